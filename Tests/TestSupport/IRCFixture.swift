import Glibc

/// The real plugin at a real server, with people who write to it.
package enum IRC {
  /// Indicates that ngircd is there, which `scripts/setup ngircd` installs.
  package static var isThere: Bool {
    ["/usr/sbin/ngircd", "/usr/bin/ngircd"].contains { (path: String) in access(path, X_OK) == 0 }
  }

  package static let annsMask = "*!~ann@127.0.0.1"

  /// - Parameter more: lines of the instance's configuration.
  package static func config(
    port: Int, isSecure: Bool = false, _ more: String = "masks: [\"\(annsMask)\"]", users: String = annsMask
  ) -> String {
    let lines = more.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n")
    return """
      messengers:
        irc:
          default:
            server: 127.0.0.1
            port: \(port)
            tls: \(isSecure)
            nick: pibot
            channels: ["#work"]
            burst: 100
            lineSeconds: 0.01
            auth: {users: ["\(users)"]}
      \(lines)
      """
  }

  /// Runs `body` with a server, Ann in #work, and a daemon whose bot has joined it.
  package static func run(
    nick: String = "ann", awaits bot: String = "pibot",
    _ body: (_ server: PythonServer, _ ann: PythonServer, _ relay: RelayFixture) async throws -> Void
  ) async throws {
    try await PythonServer.run("irc", script: "ngircd.py") { server in
      try await person(nick, user: "ann", at: server) { ann in
        try await RelayFixture.run(config: config(port: server.ports[0])) { relay in
          _ = await ann.wait { $0.contains { $0.contains(":\(bot)!") && $0.contains("JOIN") } ? true : nil }
          try await body(server, ann, relay)
        }
      }
    }
  }

  /// Somebody in #work.
  package static func person(
    _ nick: String, user: String, at server: PythonServer, _ body: (PythonServer) async throws -> Void
  ) async throws {
    try await PythonServer.run("irc", script: "person.py", ["\(server.ports[0])", nick, user]) { person in
      try person.tell("JOIN #work")
      _ = await person.wait { $0.contains { $0.contains(" 366 ") } ? true : nil }
      try await body(person)
    }
  }

  /// Texts of the bot to this person, or in this channel, in order.
  package static func said(to target: String, in lines: [String]) -> [String] {
    lines.filter { $0.hasPrefix(":pibot") && $0.contains("!") }.compactMap { line in
      line.firstRange(of: " PRIVMSG \(target) :").map { String(line[$0.upperBound...]) }
    }
  }

  /// Waits until the bot has said something.
  @discardableResult
  package static func wait(for text: String, to target: String, _ person: PythonServer) async -> [String] {
    await person.wait { lines in
      let said = said(to: target, in: lines)
      return said.contains { $0.contains(text) } ? said : nil
    } ?? []
  }
}

extension IRC {
  /// Changes somebody's nick, and waits until the server has.
  package static func person(_ person: PythonServer, becomes nick: String) async throws {
    try person.tell("NICK \(nick)")
    _ = await person.wait { $0.contains { $0.hasSuffix(" NICK :\(nick)") } ? true : nil }
  }
}
