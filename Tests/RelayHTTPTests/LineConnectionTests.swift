import RelayConcurrency
import RelayHTTP
import RelayTransport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct LineConnectionTests {
  private func run(_ body: (PythonServer, LineConnection) async throws -> Void, probe: String? = nil) async throws {
    try await PythonServer.run("line-server") { server in
      var request = LineConnection.Request(host: "127.0.0.1", port: server.ports[0], usesTLS: false)
      request.probe = probe
      request.quietSeconds = 1
      request.maximumLineBytes = 1_000
      try await body(server, try await LineConnection.connect(request))
    }
  }

  private func text(_ line: [UInt8]?) -> String? { line.map { String(decoding: $0, as: UTF8.self) } }

  @Test func `lines go both ways, whole and in order, until the server hangs up`() async throws {
    try await run { server, connection in
      for number in 0..<200 { connection.send("echo \(number)") }
      for number in 0..<200 { #expect(text(await connection.next()) == "\(number)") }
      connection.send("long 1001")
      connection.send("long 999")
      #expect(await connection.next()?.count == 999)
      connection.send("bye")
      #expect(await connection.next() == nil)
    }
  }

  @Test func `queued lines are sent before a connection is closed`() async throws {
    try await run { server, connection in
      connection.send("echo last words")
      connection.drop()
      #expect(await server.wait { $0.contains("echo last words") ? true : nil } == true)
    }
  }

  @Test func `a server faster than its reader has to wait, and nothing is lost`() async throws {
    try await run { server, connection in
      connection.send("count 40000")
      _ = await server.wait { $0.contains("count 40000") ? true : nil }
      for number in 0..<40_000 where text(await connection.next()) != "\(number)" {
        Issue.record("\(number) is missing")
        break
      }
    }
  }

  @Test func `a silent server gets a ping, and is then given up`() async throws {
    try await run(
      { server, connection in
        connection.send("hush")
        #expect(await connection.next() == nil)
        #expect(await server.wait { $0.contains("echo are you there") ? true : nil } == true)
      }, probe: "echo are you there")
  }

  @Test func `a port without a server is an error`() async throws {
    let request = LineConnection.Request(host: "127.0.0.1", port: 1, usesTLS: false)
    await #expect(throws: LineConnection.Failure.self) { try await LineConnection.connect(request) }
  }
}
