import CLinux
import Glibc
import Logging
import PluginRuntime
import RelayConcurrency
import RelayHome
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import ControlServer

/// The router of a test: notes which terminals come and go.
private struct RecordingRouter: PluginEventHandler {
  let comings = Mailbox<String>()
  let goings = Mailbox<String>()

  func connected(_ link: PluginConnection) async { comings.post(link.name) }
  func received(_ request: IncomingRequest, from link: PluginConnection) async { request.reply(Empty()) }
  func disconnected(_ link: PluginConnection) async { goings.post(link.name) }
  func mayEnd(_ link: PluginConnection, wake: @escaping @Sendable () -> Void) async -> Bool { false }
}

@Suite(.timeLimit(.minutes(1))) struct ControlServerTests {
  /// A server in a folder of its own, with the daemon's part played by the test.
  private final class Stage: Sendable {
    let router = RecordingRouter()
    let stops = Mailbox<Void>()
    let agents = Locked<Set<Int32>>([])
    let log = Mailbox<String>()
    private let home: HomeDirectory
    private let folder: TemporaryFolder
    let server: ControlServer

    init() throws {
      folder = try TemporaryFolder()
      home = HomeDirectory(path: folder.path)
      try home.prepare()
      server = try ControlServer(
        home: home,
        handlers: .init(
          status: {
            DaemonStatus(
              version: "1", pid: 7, home: "/home", machine: "here", uptime: 0, configuration: nil, agent: nil,
              plugins: [], sessions: [], deliveries: nil, terminals: nil, channels: nil, conversations: nil,
              problems: [], upgrades: 0)
          },
          plugin: { name, change in name == "discord" ? nil : "there is no plugin \(name) to \(change)" },
          revokeGrant: { "there is no grant \($0)" }, reload: { ["line 3: no such setting"] },
          upgrade: { "\($0) is not executable" },
          stop: { [stops] in stops.post(()) }, audience: router, agents: { [agents] in agents.withLock { $0 } }),
        marker: "PI_RELAY_TEST_MARKER=\(folder.path)", clock: ManualClock(),
        logger: .lines { [log] in log.post($0) })
    }

    func connect() throws -> JSONRPCConnection {
      let descriptor = relay_connect_unix(home.socket)
      if descriptor < 0 { throw SystemError("connect", code: -descriptor) }
      let writer = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
      let connection = JSONRPCConnection(input: descriptor, output: writer)
      try connection.start()
      return connection
    }
  }

  private func running(_ body: (Stage) async throws -> Void) async throws {
    let stage = try Stage()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await stage.server.run() }
      defer { stage.server.stop(leaving: []) }
      try await body(stage)
    }
  }

  @Test func `each request of the command line gets the daemon's answer`() async throws {
    try await running { stage in
      let client = try stage.connect()
      defer { client.close() }
      #expect(try await client.request(ControlStatus(), within: nil).pid == 7)
      #expect(try await client.request(ControlReload(), within: nil).problems == ["line 3: no such setting"])
      #expect(try await client.request(ControlUpgrade(program: "/x"), within: nil).problem == "/x is not executable")
      _ = try await client.request(ControlPlugin(name: "discord", change: .restart), within: nil)
      await #expect {
        _ = try await client.request(ControlPlugin(name: "tv", change: .disable), within: nil)
      } throws: { "\($0)".contains("there is no plugin tv to disable") }
    }
  }

  @Test func `a request that nobody knows is refused and the connection goes on`() async throws {
    struct Unknown: WireRequest {
      static let method = "control.dance"
      typealias Reply = Empty
    }
    try await running { stage in
      let client = try stage.connect()
      defer { client.close() }
      await #expect { _ = try await client.request(Unknown(), within: nil) } throws: {
        "\($0)".contains("there is no method control.dance")
      }
      #expect(try await client.request(ControlStatus(), within: nil).version == "1")
    }
  }

  @Test func `an agent or its descendant commands nothing`() async throws {
    try await running { stage in
      stage.agents.withLock { $0 = [getpid()] }
      let client = try stage.connect()
      defer { client.close() }
      await #expect { _ = try await client.request(ControlStop(), within: nil) } throws: {
        "\($0)".contains("an agent may not command the daemon")
      }
      // The agent of another session is no ancestor of the next client.
      stage.agents.withLock { $0 = [1] }
      #expect(try await stage.connect().request(ControlStatus(), within: nil).pid == 7)
    }
  }

  @Test func `a request to stop is answered at the end with the work that waits`() async throws {
    try await running { stage in
      let client = try stage.connect()
      defer { client.close() }
      async let reply = client.request(ControlStop(), within: nil)
      _ = await stage.stops.next()
      stage.server.stop(leaving: ["fake/default: 1 message"])
      #expect(try await reply.parked == ["fake/default: 1 message"])
    }
  }

  @Test func `a terminal is attached once under its name and freed when it goes`() async throws {
    try await running { stage in
      let first = try stage.connect()
      try await attach(first, as: "lines-1")
      #expect(await stage.router.comings.next() == "attached/lines-1")
      let second = try stage.connect()
      await #expect { _ = try await second.request(ControlAttach(client: "lines-1"), within: nil) } throws: {
        "\($0)".contains("attached already")
      }
      await #expect {
        _ = try await (try stage.connect()).request(ControlAttach(client: "../x"), within: nil)
      } throws: { "\($0)".contains("1 to 32") }
      first.close()
      #expect(await stage.router.goings.next() == "attached/lines-1")
      let third = try stage.connect()
      try await attach(third, as: "lines-1")
      #expect(await stage.router.comings.next() == "attached/lines-1")
      third.close()
    }
  }

  /// Attaches a terminal and answers the daemon's greeting.
  private func attach(_ connection: JSONRPCConnection, as client: String) async throws {
    _ = try await connection.request(ControlAttach(client: client), within: nil)
    var requests = connection.requests.makeAsyncIterator()
    let greeting = try #require(await requests.next())
    #expect(try greeting.params(InitializeRequest.self).instance == "attached/\(client)")
    greeting.reply(
      InitializeReply(
        protocolVersion: 1, name: "chat", version: "1", kinds: [.messenger], capabilities: Capabilities()))
  }

  @Test func `connections beyond the limit are refused and said so once each`() async throws {
    try await running { stage in
      var open: [JSONRPCConnection] = []
      for _ in 0..<ControlListener.maximumConnections {
        let client = try stage.connect()
        _ = try await client.request(Ping(), within: nil)
        open.append(client)
      }
      let refused = try stage.connect()
      await #expect(throws: (any Error).self) { _ = try await refused.request(Ping(), within: nil) }
      #expect(await stage.log.next()?.contains("64 are open already") == true)
      for client in open { client.close() }
    }
  }
}
