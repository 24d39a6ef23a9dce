import TestSupport
import Testing

@testable import RelayHTTP

@Suite struct WebSocketHandshakeTests {
  @Test func `the answer to a key is that of RFC 6455`() {
    #expect(
      WebSocketHandshake(key: "dGhlIHNhbXBsZSBub25jZQ==").expectedAccept == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }

  @Test(arguments: [
    ("wss://gateway.example/?v=10", "https://gateway.example/?v=10", "gateway.example", "/?v=10"),
    ("ws://127.0.0.1:80?x", "http://127.0.0.1:80/?x", "127.0.0.1:80", "/?x"),
    ("wss://host", "https://host/", "host", "/"),
  ])
  func `an address is divided into its parts`(url: String, http: String, host: String, target: String) throws {
    let address = try #require(WebSocketAddress(url))
    #expect(address.httpURL == http && address.host == host && address.target == target)
  }

  @Test(arguments: ["https://host", "wss://", "wss://user@host", "wss://host/a b", "host"])
  func `a text that is not an address is refused`(url: String) {
    #expect(WebSocketAddress(url) == nil)
  }
}

/// Against servers that others wrote, or that no decent one would be.
@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: PythonServer.isThere, "scripts/setup-peers"))
struct WebSocketTests {
  private func decent(_ server: PythonServer, _ path: String) async throws -> WebSocket {
    var request = WebSocket.Request(url: "ws://127.0.0.1:\(server.ports[0])/\(path)")
    request.allowsPlain = true
    request.headers = [("X-Test", "seen")]
    return try await WebSocket.connect(request)
  }

  private func raw(_ server: PythonServer, _ path: String, seconds: Int = 15) async throws -> WebSocket {
    var request = WebSocket.Request(url: "ws://127.0.0.1:\(server.ports[1])\(path)")
    request.allowsPlain = true
    request.timeoutSeconds = seconds
    return try await WebSocket.connect(request)
  }

  @Test func `texts of every size come back as they were sent`() async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      let socket = try await decent(server, "echo")
      for size in [0, 1, 125, 126, 65_535, 65_536, 1 << 20] {
        let text = Array(repeating: UInt8(ascii: "a"), count: size)
        try socket.send(text)
        #expect(await socket.next() == .text(text))
      }
      socket.close(code: 1000)
      #expect(await socket.next() == nil)
      #expect(socket.closure?.code == 1000)
      #expect(throws: WebSocketError.closed) { try socket.send([]) }
    }
  }

  @Test func `a message of 64 MiB is taken, and one byte more ends the connection`() async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      let socket = try await decent(server, "large=\(64 << 20)")
      #expect(await socket.next()?.bytes.count == 64 << 20)
      socket.drop()
      let other = try await decent(server, "large=\(64 << 20 + 1)")
      #expect(await other.next() == nil)
    }
  }

  @Test func `fragments with pings between them are one message`() async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      let socket = try await decent(server, "fragments")
      #expect(await socket.next() == .text(Array("one two three".utf8)))
    }
  }

  @Test func `a WebSocket server faster than its reader has to wait, and nothing is lost`() async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      var request = WebSocket.Request(url: "ws://127.0.0.1:\(server.ports[0])/many=5000")
      request.allowsPlain = true
      request.maximumWaitingBytes = 10_000
      let socket = try await WebSocket.connect(request)
      for number in 0..<5_000 {
        let message = await socket.next()
        #expect(message?.bytes.starts(with: Array("message \(number) ".utf8)) == true)
      }
    }
  }

  @Test func `the time without anything from the server begins anew when something arrives`() async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      let socket = try await decent(server, "echo")
      let sinceSend = ContinuousClock.now
      try socket.send(Array("hello".utf8))
      #expect(await socket.next() != nil)
      let silence = socket.silence
      #expect(silence <= sinceSend.duration(to: .now))
      #expect(socket.silence > silence)
    }
  }

  @Test func `the server's close code and reason are known, and the headers of the client arrive`() async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      let socket = try await decent(server, "close=4004")
      #expect(await socket.next() == nil)
      #expect(socket.closure == WebSocket.Closure(code: 4004, reason: "goodbye"))
      let other = try await decent(server, "header")
      #expect(await other.next() == .text(Array("seen".utf8)))
    }
  }

  @Test func `drops of one byte make whole messages`() async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      let socket = try await raw(server, "/byte-by-byte")
      #expect(await socket.next() == .text(Array("hé!".utf8)))
      #expect(await socket.next() == nil)
      #expect(socket.closure == WebSocket.Closure(code: 4000, reason: "done"))
    }
  }

  @Test(arguments: [
    ("/invalid-utf8", 1007), ("/masked", 1002), ("/reserved-bit", 1002), ("/reserved-opcode", 1002),
    ("/long-ping", 1002), ("/fragmented-ping", 1002), ("/lone-continuation", 1002), ("/new-message-within", 1002),
    // Answered by wslay without a code.
    ("/bad-close-code", 1002), ("/one-byte-close", 0),
  ])
  func `a violation of the protocol ends the connection with its code`(path: String, code: Int) async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      let socket = try await raw(server, path)
      #expect(await socket.next() == nil)
      #expect(await server.closeCode(on: path) == code)
    }
  }

  @Test func `a connection that breaks off delivers its whole messages`() async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      let half = try await raw(server, "/half-frame-then-gone")
      #expect(await half.next() == nil)
      #expect(half.closure?.code == nil)
      let whole = try await raw(server, "/whole-then-gone")
      #expect(await whole.next() == .text(Array("hello".utf8)))
      #expect(await whole.next() == nil)
    }
  }

  @Test(arguments: ["/wrong-accept", "/not-found", "/endless-header"])
  func `a server without WebSocket is told apart`(path: String) async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      await #expect {
        _ = try await raw(server, path)
      } throws: { error in
        if case .refused? = error as? WebSocketError { true } else { false }
      }
    }
  }

  @Test func `a silent server is given up, and waiting can be cancelled`() async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      await #expect(throws: WebSocketError.timedOut(seconds: 1)) { _ = try await raw(server, "/silence", seconds: 1) }
      let waiting = Task { try await raw(server, "/silence", seconds: 60) }
      waiting.cancel()
      await #expect(throws: WebSocketError.cancelled) { _ = try await waiting.value }
    }
  }

  @Test func `a port without a WebSocket server is an error`() async throws {
    var request = WebSocket.Request(url: "ws://127.0.0.1:1/")
    request.allowsPlain = true
    let plain = request
    await #expect {
      _ = try await WebSocket.connect(plain)
    } throws: { error in
      if case .unreachable? = error as? WebSocketError { true } else { false }
    }
    request.allowsPlain = false
    let secure = request
    await #expect(throws: WebSocketError.self) { _ = try await WebSocket.connect(secure) }
  }
}
