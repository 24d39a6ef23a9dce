import FoundationEssentials
import Supervisor
import TestSupport
import Testing

extension EndToEnd {
  /// Certificates of a private authority, and proxies of Debian between the plugin and Discord.
  @Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers"))
  struct DiscordNetworkTests {
    private let scratch: TemporaryFolder

    init() async throws {
      scratch = try TemporaryFolder()
      let script = URL(filePath: #filePath).deletingLastPathComponent().path + "/../Fixtures/fake-discord/certificates"
      _ = try await Command.run(script, [scratch.path], environment: ["PATH": "/usr/bin:/bin"])
    }

    private func config(_ scheme: String, _ discord: PythonServer, proxy: String? = nil) -> String {
      """
      messengers:
        discord:
          default:
            token: the-token
            api: \(scheme)://127.0.0.1:\(discord.ports[1])
            auth: {users: ["\(Discord.ann)"]}
      \(proxy.map { "      proxy: \($0)" } ?? "")
      """
    }

    @Test func `a private authority is trusted where it is named`() async throws {
      try await PythonServer.run("fake-discord", ["--tls", scratch.path], with: PythonServer.python) { discord in
        let programs = Programs.built(with: ["SSL_CERT_FILE": scratch.path + "/ca.pem"])
        try await RelayFixture.run(config: config("https", discord), programs: programs) { _ in
          _ = await Discord.wait(at: discord) { $0.identifies > 0 }
          try Discord.say("hello", to: discord)
          await Discord.waitForText("You wrote: hello", at: discord)
        }
      }
    }

    @Test func `a certificate of nobody known is refused, and nothing is sent`() async throws {
      try await PythonServer.run("fake-discord", ["--tls", scratch.path], with: PythonServer.python) { discord in
        try await RelayFixture.run(config: config("https", discord)) { relay in
          try await relay.waitForStatus { _ in
            let log = FileManager.default.contents(atPath: relay.folders.log("discord/default")) ?? Data()
            return String(decoding: log, as: UTF8.self).contains("certificate")
          }
          #expect(DiscordLedger(discord.printed).identifies == 0)
        }
      }
    }

    private static let areProxiesThere = ["microsocks", "tinyproxy"].allSatisfy { name in
      ["/usr/bin", "/usr/sbin", "/bin"].contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }

    @Test(
      .enabled(if: areProxiesThere, "apt install microsocks tinyproxy"),
      arguments: ["socks5", "socks5h", "http"])
    func `everything goes through a proxy where one is named`(scheme: String) async throws {
      try await PythonServer.run("proxies") { proxies in
        try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
          let isSOCKS = scheme.hasPrefix("socks")
          let proxy = "\"\(scheme)://127.0.0.1:\(proxies.ports[isSOCKS ? 0 : 1])\""
          try await RelayFixture.run(config: config("http", discord, proxy: proxy)) { _ in
            _ = await Discord.wait(at: discord) { $0.identifies > 0 }
            try Discord.say("hello", to: discord)
            await Discord.waitForText("You wrote: hello", at: discord)
          }
          // The gateway and the interface both.
          for port in discord.ports {
            let isSeen = await proxies.wait { lines in lines.contains { $0.contains("\(port)") } ? true : nil }
            #expect(isSeen == true, "\(proxies.printed)")
          }
        }
      }
    }
  }
}
