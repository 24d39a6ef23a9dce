import CLinux
import Glibc
import PluginRuntime
import RelayConcurrency
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import ControlServer

@Suite(.timeLimit(.minutes(1))) struct ControlServerTests {
  private func running(_ body: (ControlStage) async throws -> Void) async throws {
    try await ControlStage.running(body)
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
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      let client = try stage.connect()
      defer { client.close() }
      await #expect { _ = try await client.request(ControlStop(), within: nil) } throws: {
        "\($0)".contains("an agent may not command the daemon")
      }
      await #expect { _ = try await client.request(ControlAttach(client: "lines-1"), within: nil) } throws: {
        "\($0)".contains("run control.attach outside of the agent")
      }
      // The agent of another session is no ancestor of the next client.
      stage.agents.withLock { $0 = [1: "s1"] }
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
      #expect(await stage.log.next()?.contains("128 are open already") == true)
      for client in open { client.close() }
    }
  }
}
