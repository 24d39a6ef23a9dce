import CLinux
import ControlServer
import Glibc
import RelayConcurrency
import RelayJSON
import RelayTransport
import RelayWire
import Testing

@testable import TerminalChat

/// Counts what the connection tells a screen.
private final class RecordingScreen: ChatScreen {
  let replacements = Locked(0)

  var dialect: String { "plain" }
  func show(_ message: MessageSend, id: String) {}
  func change(_ message: MessageEdit) {}
  func remove(_ message: MessageDelete) {}
  func settled(_ message: MessageSettled) {}
  func typing(_ active: Bool) {}
  func connected(_ isConnected: Bool) {}
  func daemonReplaced() { replacements.withLock { $0 += 1 } }
}

/// The control sockets of daemons that come and go: each `connect` makes the next.
private final class ControlSockets: Sendable {
  private let daemons = Mailbox<JSONRPCConnection>()

  var environment: ChatEnvironment {
    ChatEnvironment(variables: ["USER": "u1"], directory: "/work", historyFile: "/dev/null") { [daemons] in
      guard let forth = try? Self.pipe(), let back = try? Self.pipe() else { return nil }
      let daemon = JSONRPCConnection(input: forth.read, output: back.write)
      let terminal = JSONRPCConnection(input: back.read, output: forth.write)
      guard (try? daemon.start()) != nil, (try? terminal.start()) != nil else { return nil }
      daemons.post(daemon)
      return terminal
    }
  }

  private static func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    let code = relay_pipe(&ends)
    if code != 0 { throw SystemError("pipe", code: code) }
    return (ends[0], ends[1])
  }

  func next() async throws -> JSONRPCConnection { try #require(await daemons.next()) }

  /// The next daemon, once it has shaken hands with the terminal.
  func attached(pid: Int32) async throws -> (peer: JSONRPCConnection, requests: AsyncStream<IncomingRequest>.Iterator) {
    let peer = try await next()
    var requests = peer.requests.makeAsyncIterator()
    try #require(await requests.next()).reply(Self.status(pid: pid))
    let attachment = try #require(await requests.next())
    #expect(try attachment.params(ControlAttach.self).client == "lines-1")
    attachment.reply(Empty())
    let about = try await peer.request(
      InitializeRequest(
        host: HostDescription(name: "pi-relayd", version: "1"), instance: "terminal:lines-1", config: .object([:]),
        dataDir: "/data", spoolDir: "/spool"), within: nil)
    #expect(about.kinds == [.messenger])
    return (peer, requests)
  }

  private static func status(pid: Int32) -> DaemonStatus {
    DaemonStatus(
      version: "1", pid: pid, home: "/home", machine: "here", uptime: 0, configuration: nil, agent: nil, plugins: [],
      sessions: [], deliveries: nil, terminals: nil, channels: nil, conversations: nil, problems: [], upgrades: 0)
  }
}

@Suite(.timeLimit(.minutes(1))) struct ChatConnectionTests {
  private let screen = RecordingScreen()
  private let sockets = ControlSockets()

  private func running(_ body: (ChatConnection) async throws -> Void) async throws {
    let connection = ChatConnection(sockets.environment, client: "lines-1", screen: screen)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await connection.run(reconnects: true) }
      try await body(connection)
      group.cancelAll()
    }
  }

  @Test func `a message that was not acknowledged is said again, under its id, to the next daemon`() async throws {
    try await running { connection in
      async let said = connection.say("hello")
      var first = try await sockets.attached(pid: 1)
      let unanswered = try #require(await first.requests.next())
      let lost = try unanswered.params(MessageReceived.self)
      first.peer.close()
      var second = try await sockets.attached(pid: 2)
      let request = try #require(await second.requests.next())
      let again = try request.params(MessageReceived.self)
      #expect(again == lost)
      #expect(again.text == "hello" && again.conversation.directory == "/work" && again.sender.id == "u1")
      request.reply(MessageReceived.Reply(stored: true))
      #expect(try await said == again.id)
      #expect(screen.replacements.withLock { $0 } == 1)
      // Left alone, the request would be answered with an error.
      withExtendedLifetime(unanswered) {}
      second.peer.close()
    }
  }

  @Test func `a daemon that refuses the terminal ends the chat`() async throws {
    let refusal = WireError(.invalidRequest, "terminal:lines-1 is attached already")
    let connection = ChatConnection(sockets.environment, client: "lines-1", screen: screen)
    async let run: Void = connection.run(reconnects: true)
    let said = Task { try await connection.say("hello") }
    let peer = try await sockets.next()
    var requests = peer.requests.makeAsyncIterator()
    try #require(await requests.next()).fail(refusal)
    await #expect(throws: refusal) { try await said.value }
    await run
  }
}
