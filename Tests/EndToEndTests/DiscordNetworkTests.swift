import FoundationEssentials
import ProcessSupervision
import RelayHome
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
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

    @Test func `a private authority is trusted when it is configured`() async throws {
      try await PythonServer.run("fake-discord", ["--tls", scratch.path], with: PythonServer.python) { discord in
        let programs = Programs.built(with: ["SSL_CERT_FILE": scratch.path + "/ca.pem"])
        try await RelayFixture.run(config: config("https", discord), programs: programs) { _ in
          _ = await Discord.wait(at: discord) { $0.identifies > 0 }
          try Discord.say("hello", to: discord)
          await Discord.waitForText("You wrote: hello", at: discord)
        }
      }
    }

    @Test func `a certificate of an unknown authority is refused, and nothing is sent`() async throws {
      try await PythonServer.run("fake-discord", ["--tls", scratch.path], with: PythonServer.python) { discord in
        try await RelayFixture.run(config: config("https", discord)) { relay in
          try await waitForFiles(in: relay.home.logs) {
            let log = FileManager.default.contents(atPath: relay.home.log("discord/default")) ?? Data()
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
    func `all connections go through a configured proxy`(scheme: String) async throws {
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

    /// A daemon with these variables, and Discord behind a proxy.
    private func runBehindProxy(
      _ scheme: String, _ variables: (_ proxy: String) -> [String: String], proxy setting: String? = nil,
      _ body: (PythonServer, PythonServer, RelayFixture) async throws -> Void
    ) async throws {
      try await PythonServer.run("proxies") { proxies in
        let arguments = scheme == "https" ? ["--tls", scratch.path] : []
        try await PythonServer.run("fake-discord", arguments, with: PythonServer.python) { discord in
          let environment = variables("127.0.0.1:\(proxies.ports[1])")
            .merging(["SSL_CERT_FILE": scratch.path + "/ca.pem"]) { $1 }
          try await RelayFixture.run(
            config: config(scheme, discord, proxy: setting?.replacing("PROXY", with: "127.0.0.1:\(proxies.ports[1])")),
            programs: .built(with: environment)
          ) { relay in
            _ = await Discord.wait(at: discord) { $0.identifies > 0 }
            try Discord.say("hello", to: discord)
            await Discord.waitForText("You wrote: hello", at: discord)
            try await body(discord, proxies, relay)
          }
        }
      }
    }

    @Test(
      .enabled(if: areProxiesThere, "apt install microsocks tinyproxy"),
      arguments: [("https", "HTTPS_PROXY"), ("https", "all_proxy"), ("http", "HTTP_PROXY"), ("http", "http_proxy")])
    func `all connections go through the proxy of the environment, which doctor shows`(
      scheme: String, variable: String
    ) async throws {
      try await runBehindProxy(scheme, { [variable: "http://ann:secret@\($0)"] }) { discord, proxies, relay in
        for port in discord.ports {
          let isSeen = await proxies.wait { lines in lines.contains { $0.contains("\(port)") } ? true : nil }
          #expect(isSeen == true, "\(proxies.printed)")
        }
        // The command is started without the variables: the environment of the plugin counts.
        let doctor = try await relay.command("doctor").output.joined(separator: "\n")
        let shown = "the proxy http://ann@127.0.0.1:\(proxies.ports[1]) (\(variable))"
        #expect(doctor.contains("discord/default: Discord is reached through \(shown)"), "\(doctor)")
        let log = try await relay.command("logs", "discord/default").output.joined(separator: "\n")
        #expect(log.contains("Discord is reached through \(shown)"))
        #expect(!(doctor + log).contains("secret"))
      }
    }

    @Test(.enabled(if: areProxiesThere, "apt install microsocks tinyproxy"))
    func `a set-up uses the file's proxy, and its own proxy is written beneath its instance alone`() async throws {
      try await PythonServer.run("proxies") { proxies in
        try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
          let (own, common) = ("socks5h://127.0.0.1:\(proxies.ports[0])", "http://127.0.0.1:\(proxies.ports[1])")
          try await RelayFixture.run(config: "proxy: \(common)\n", startsDaemon: false) { relay in
            let token = try relay.scratch.write("token", "the-token")
            let usual = [
              "setup", "discord", "--from-file", "token=\(token)", "--set", "channels=", "--set",
              "users=\(Discord.ann)",
              "--set", "api=http://127.0.0.1:\(discord.ports[1])",
            ]
            let first = try await relay.command(usual)
            #expect(first.exit == .exited(0), "\(first.errors)")
            let isSeen = await proxies.wait { lines in
              lines.contains { $0.hasPrefix("tinyproxy") && $0.contains("\(discord.ports[1])") } ? true : nil
            }
            #expect(isSeen == true)
            let before = try relay.configuration
            #expect(before.components("proxy:").count == 2, "\(before)")
            let second = try await relay.command(usual + ["--instance", "second", "--set", "proxy=\(own)"])
            #expect(second.exit == .exited(0), "\(second.errors)")
            let text = try relay.configuration
            #expect(text.contains("proxy: \(common)\n") && text.contains("      proxy: \"\(own)\"\n"), "\(text)")
            #expect(text.components("proxy:").count == 3)
          }
        }
      }
    }

    @Test(.enabled(if: areProxiesThere, "apt install microsocks tinyproxy"))
    func `hosts that NO_PROXY lists are reached directly`() async throws {
      try await runBehindProxy("http", { ["ALL_PROXY": "http://\($0)", "NO_PROXY": "127.0.0.0/8"] }) {
        discord, proxies, relay in
        #expect(!proxies.printed.contains { line in discord.ports.contains { line.contains("\($0)") } })
        let doctor = try await relay.command("doctor").output.joined()
        #expect(!doctor.contains("is reached through"))
      }
    }

    @Test(.enabled(if: areProxiesThere, "apt install microsocks tinyproxy"))
    func `the setting takes precedence over the environment, NO_PROXY included`() async throws {
      try await runBehindProxy(
        "http", { _ in ["http_proxy": "http://127.0.0.1:1", "no_proxy": "*"] }, proxy: "\"http://PROXY\""
      ) { discord, proxies, relay in
        for port in discord.ports {
          let isSeen = await proxies.wait { lines in lines.contains { $0.contains("\(port)") } ? true : nil }
          #expect(isSeen == true, "\(proxies.printed)")
        }
        let doctor = try await relay.command("doctor").output.joined(separator: "\n")
        #expect(doctor.contains("127.0.0.1:\(proxies.ports[1]) (the setting proxy)"), "\(doctor)")
      }
    }

    @Test(.enabled(if: areProxiesThere, "apt install microsocks tinyproxy"), arguments: [true, false])
    func `attachments are fetched through the environment's proxy, and directly from hosts in NO_PROXY`(
      isListed: Bool
    ) async throws {
      try await PythonServer.run("proxies") { proxies in
        try await PythonServer.run("fake-discord", with: PythonServer.python) { files in
          var capabilities = FakeMessenger.usual
          capabilities.attachmentHosts = ["127.0.0.1"]
          var environment = ["HTTP_PROXY": "http://127.0.0.1:\(proxies.ports[1])"]
          if isListed { environment["NO_PROXY"] = "127.0.0.1" }
          try await RelayFixture.run(
            config: RelayFixture.defaultConfig + "\nplugins: {attachments: {allowPrivateAddresses: true}}\n",
            capabilities: capabilities, programs: .built(with: environment)
          ) { relay in
            try files.tell(#"{"do": "file", "id": "f1", "text": "the secret is 42"}"#)
            let url = "http://127.0.0.1:\(files.ports[1])/files/f1/notes.txt"
            try await relay.messenger.say(
              "look", id: "1", attachments: [Attachment(id: "1", name: "notes.txt", url: url)])
            await relay.messenger.waitForText("the secret is 42")
            #expect(proxies.printed.contains { $0.contains("\(files.ports[1])") } != isListed, "\(proxies.printed)")
          }
        }
      }
    }
  }
}

extension String {
  fileprivate func components(_ separator: String) -> [Substring] {
    split(separator: separator, omittingEmptySubsequences: false)
  }
}
