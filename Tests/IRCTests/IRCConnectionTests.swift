import MessengerKit
import PluginSDK
import RelayConcurrency
import RelayTransport
import TestSupport
import Testing

@testable import IRC

/// A connection to the server of the tests' own, without a daemon.
@Suite(.timeLimit(.minutes(1))) struct IRCConnectionTests {
  /// - Parameter burst: lines that go out at once; the next comes after a hundred seconds.
  private func run(burst: Int = 100, _ body: (PythonServer, IRCConnection, Mailbox<IRCLine>) async throws -> Void)
    async throws
  {
    try await PythonServer.run("irc", script: "modern.py") { server in
      let settings = try IRCSettings(
        checked: [
          "server": "127.0.0.1", "port": .integer(Int64(server.ports[0])), "tls": false, "nick": "pibot",
          "burst": .integer(Int64(burst)), "lineSeconds": 100, "masks": ["*!*@desk.test"],
        ])
      let connection = try await IRCConnection.open(settings)
      let lines = Mailbox<IRCLine>()
      let reading = Task { try await connection.run { lines.post($0) } }
      try await body(server, connection, lines)
      await connection.quit()
      _ = try await reading.value
    }
  }

  @Test func `no more lines go out than the server allows, and the caller is told how many`() async throws {
    // Two lines were part of the greeting.
    try await run(burst: 5) { server, connection, _ in
      let count = try await connection.say(["a", "b", "c", "d"], to: "#work", as: "k1")
      #expect(count == 3)
      #expect(try await connection.say(["d"], to: "#work", as: "k1") == 0)
      // The server answers before its own output has arrived here.
      let said = await server.wait { lines in
        let said = lines.filter { $0.hasPrefix("PRIVMSG") }
        return said.count >= 3 ? said : nil
      }
      #expect(said == ["a", "b", "c"].map { "PRIVMSG #work :\($0)" })
    }
  }

  @Test func `a refusal of the server is reported for its own target only`() async throws {
    try await run { server, connection, lines in
      try server.tell("mute")
      _ = await server.wait { $0.contains("mute") ? true : nil }
      let refused = Task { try await connection.say(["a"], to: "#closed", as: "k1") }
      let taken = Task { try await connection.say(["b"], to: "#work", as: "k2") }
      _ = await server.wait { $0.count { $0.hasPrefix("PING") } >= 2 ? true : nil }
      for line in ["404 pibot #Closed :Cannot send to channel", "PONG modern.test k1", "PONG modern.test k2"] {
        try server.tell("say :modern.test \(line)")
      }
      await #expect(throws: DeliveryFailure.forbidden("IRC: #Closed: Cannot send to channel")) {
        try await refused.value
      }
      #expect(try await taken.value == 1)
    }
  }

  @Test func `lines that the server did not confirm before the connection ended are in doubt`() async throws {
    try await run { server, connection, _ in
      try server.tell("mute")
      _ = await server.wait { $0.contains("mute") ? true : nil }
      let sent = Task { try await connection.say(["a"], to: "#work", as: "k1") }
      _ = await server.wait { $0.contains("PING :k1") ? true : nil }
      try server.tell("drop")
      await #expect(throws: DeliveryFailure.unknownOutcome("IRC: the server did not say that it has the message")) {
        try await sent.value
      }
    }
  }

  @Test func `a person is known by account or mask, and the history does not tell who bears a nick now`() async throws {
    try await run { _, connection, _ in
      var authors: [String] = []
      for (text, isPast) in [
        ("@account=ann :a!u@h PRIVMSG #work :x", false), (":ann!u@h PRIVMSG #work :x", false),
        (":bob!u@desk.test PRIVMSG #work :x", true), ("@account=*!*@desk.test :a!u@h PRIVMSG #work :x", false),
      ] {
        let line = try #require(IRCLine(Array(text.utf8)))
        authors.append(await connection.author(of: line, isPast: isPast))
      }
      #expect(authors == ["ann", "unknown:ann!u@h", "*!*@desk.test", "unknown:a!u@h"])
    }
  }
}
