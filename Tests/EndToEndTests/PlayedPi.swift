import Glibc
import ProcessSupervision
import RelayHome
import RelayJSON
import RelayTransport
import RelayWire
import TestSupport
import Testing

/// The extension in Node, in a pi in a terminal that the test plays.
final class PlayedPi: Sendable {
  private static let sources = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
  /// Node 20 or later: the system's, or the one that the tests of the extension have installed.
  static let node: String? = ["/usr/bin/node", "/usr/local/bin/node", sources + "/.build/node/bin/node"]
    .first { access($0, X_OK) == 0 }
  /// The configuration in which pushes wait for a person.
  static let rules = """
    approvals: {enabled: true, timeoutSeconds: 30, rules: [{id: push, categories: [git-remote]}]}
    """

  let lines = Lines()
  private let child: ChildProcess
  private let outbox: Outbox

  init(_ relay: RelayFixture, session: String = "t1") throws {
    let node = try #require(Self.node)
    let (child, pipes) = try ChildProcess.spawn(
      .init(
        name: "pi", path: node, arguments: [Self.sources + "/Tests/Extension/support/played-pi.js"],
        environment: [
          "PATH": "/usr/bin:/bin", "HOME": relay.scratch.path, "PI_RELAY_SOCKET": relay.home.socket,
          "PLAYED_DIRECTORY": relay.scratch.path, "PLAYED_SESSION": session,
        ]), guardian: nil)
    self.child = child
    outbox = Outbox(descriptor: pipes.input, limit: 1 << 20)
    for descriptor in [pipes.output, pipes.error] {
      let reader = LineReader(
        descriptor: descriptor, maximumLineLength: 1 << 20,
        handlers: .init(line: { [lines] framed in
          if case .line(let bytes) = framed { lines.add(String(decoding: bytes, as: UTF8.self)) }
        }))
      try reader.start()
    }
  }

  func tell(_ line: String) throws { try outbox.send(Array((line + "\n").utf8)) }

  func wait(for text: String) async { await lines.wait { $0.contains { $0.contains(text) } } }

  /// Waits until pi has left by itself.
  func ended() async { _ = await child.exit() }

  func kill() async {
    child.signal(SIGKILL)
    _ = await child.exit()
  }

  /// Runs `body` with a pi that has joined and that the conversation has chosen.
  static func run(
    approvals: String = "", capabilities: Capabilities = FakeMessenger.withButtons,
    _ body: (RelayFixture, PlayedPi) async throws -> Void
  ) async throws {
    try await RelayFixture.run(
      config: RelayFixture.defaultConfig + "\n" + approvals, pi: "extension: \(sources)/extension",
      capabilities: capabilities
    ) { relay in
      let pi = try PlayedPi(relay)
      do {
        try pi.tell("start")
        await pi.wait(for: #"{"status":"relay: "#)
        let name = relay.scratch.path.split(separator: "/").last.map(String.init) ?? ""
        try await relay.messenger.say("/use \(name)", id: "use")
        _ = await relay.messenger.waitForOutcome(of: "use")
        try await body(relay, pi)
      } catch {
        await pi.kill()
        throw error
      }
      await pi.kill()
    }
  }
}
