import ControlServer
import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
  /// The real plugin at ngircd, which has no accounts, no history and no receipts of its own.
  @Suite(.enabled(if: IRC.isThere, "scripts/setup ngircd")) struct IRCTests {
    @Test func `messages in a channel and direct messages are answered there, whole and once`() async throws {
      try await IRC.run { _, ann, relay in
        try ann.tell("PRIVMSG #work :pibot: hello")
        await IRC.wait(for: "You wrote: [ann]: hello", to: "#work", ann)
        try ann.tell("PRIVMSG pibot :and here")
        await IRC.wait(for: "You wrote: and here", to: "ann", ann)
        try await relay.waitForStatus { $0.sessions.allSatisfy { $0.activity == .idle } }
        let (channel, direct) = (IRC.said(to: "#work", in: ann.printed), IRC.said(to: "ann", in: ann.printed))
        #expect(channel.count { $0.contains("You wrote: [ann]: hello") } == 1)
        #expect(direct.count { $0.contains("You wrote: and here") } == 1)
        #expect(try await relay.plugin("irc/default")?.problem == nil)
      }
    }

    @Test func `a long answer comes in lines that fit, with no word lost or divided`() async throws {
      try await IRC.run { _, ann, relay in
        try ann.tell("PRIVMSG pibot :/long 600")
        let sentence = "The quick brown fox jumps over the lazy dog while the relay keeps every word in its place."
        let words = sentence.split(separator: " ")
        let wanted = (0..<600).map { String(words[$0 % words.count]) }
        let said = await ann.wait { lines -> [String]? in
          let said = IRC.said(to: "ann", in: lines)
          return said.joined(separator: " ").split(separator: " ").count >= 600 ? said : nil
        }
        let heard = (said ?? []).joined(separator: " ").split(separator: " ").map(String.init)
        #expect(heard == wanted)
        #expect(ann.printed.allSatisfy { $0.utf8.count <= 510 })
      }
    }

    @Test func `a question is answered by its number, and a command by its exclamation mark`() async throws {
      try await IRC.run { _, ann, _ in
        try ann.tell("PRIVMSG pibot :!select")
        await IRC.wait(for: "Reply with a number", to: "ann", ann)
        try ann.tell("PRIVMSG pibot :2")
        await IRC.wait(for: "You answered: Green", to: "ann", ann)
      }
    }

    @Test func `strangers are ignored, even under the nick of an admitted person`() async throws {
      try await IRC.run(nick: "anna") { server, ann, relay in
        try await IRC.person("ann", user: "mallory", at: server) { mallory in
          try mallory.tell("PRIVMSG pibot :let me in")
          try mallory.tell("PRIVMSG #work :pibot: let me in")
          try await relay.waitForLog("unknown:ann!~mallory@127.0.0.1")
          try ann.tell("PRIVMSG pibot :hello")
          await IRC.wait(for: "You wrote: hello", to: "anna", ann)
          #expect(IRC.said(to: "ann", in: mallory.printed).isEmpty)
          #expect(!ann.printed.contains { $0.contains("You wrote: let me in") })
        }
      }
    }

    @Test func `an answer does not go to a person who has taken the nick of the asker`() async throws {
      try await IRC.run { server, ann, relay in
        try ann.tell("PRIVMSG pibot :/slow 20")
        try await relay.waitForStatus { $0.sessions.contains { $0.activity == .working } }
        try await IRC.person(ann, becomes: "ann2")
        try await IRC.person("ann", user: "mallory", at: server) { mallory in
          try await relay.waitForStatus { $0.sessions.allSatisfy { $0.activity == .idle } }
          // The answer has been on its way by the time that the bot has heard this.
          try mallory.tell("PRIVMSG pibot :is it for me?")
          try await relay.waitForLog("unknown:ann!~mallory@127.0.0.1")
          // She is known under her new nick as soon as she writes.
          try ann.tell("PRIVMSG pibot :hello")
          await IRC.wait(for: "You wrote: hello", to: "ann2", ann)
          #expect(IRC.said(to: "ann2", in: ann.printed).contains { $0.contains("The quick brown fox") })
          #expect(IRC.said(to: "ann", in: mallory.printed).isEmpty)
        }
      }
    }

    @Test func `a nick that is in use is replaced, and taken back when it is free`() async throws {
      try await PythonServer.run("irc", script: "ngircd.py") { server in
        try await IRC.person("ann", user: "ann", at: server) { ann in
          try await RelayFixture.run(config: IRC.config(port: server.ports[0]), startsDaemon: false) { relay in
            try await IRC.person("pibot", user: "other", at: server) { other in
              try await relay.start()
              _ = await ann.wait { $0.contains { $0.hasPrefix(":pibot_!") && $0.contains("JOIN") } ? true : nil }
              try ann.tell("PRIVMSG #work :pibot_: hello")
              await IRC.wait(for: "You wrote: [ann]: hello", to: "#work", ann)
              try other.tell("QUIT")
            }
            _ = await ann.wait { $0.contains { $0.hasPrefix(":pibot_!") && $0.hasSuffix("NICK :pibot") } ? true : nil }
            try ann.tell("PRIVMSG pibot :still there?")
            await IRC.wait(for: "You wrote: still there?", to: "ann", ann)
          }
        }
      }
    }

    @Test func `the bot comes back after an outage of the server, which the status shows meanwhile`() async throws {
      try await IRC.run { server, _, relay in
        try server.tell("stop")
        try await relay.waitForStatus { status in
          status.plugins.first { $0.name == "irc/default" }?.problem?.contains("not connected to IRC") == true
        }
        try server.tell("start")
        try await relay.waitForStatus { status in status.plugins.first { $0.name == "irc/default" }?.problem == nil }
        try await IRC.person("ann", user: "ann", at: server) { ann in
          try ann.tell("PRIVMSG pibot :back?")
          await IRC.wait(for: "You wrote: back?", to: "ann", ann)
          try ann.tell("PRIVMSG #work :here too?")
          await IRC.wait(for: "You wrote: [ann]: here too?", to: "#work", ann)
        }
      }
    }

    @Test func `a plugin killed in mid-answer comes back, and the answer arrives`() async throws {
      try await IRC.run { _, ann, relay in
        try ann.tell("PRIVMSG pibot :/slow 40")
        try await relay.waitForStatus { $0.sessions.contains { $0.activity == .working } }
        try await relay.crash("irc/default")
        let said = await IRC.wait(for: "The quick brown fox", to: "ann", ann)
        #expect(said.count { $0.contains("The quick brown fox") } == 1, "\(said)")
      }
    }

    @Test func `the plugin passes every check of the protocol, connected or not`() async throws {
      try await PythonServer.run("irc", script: "ngircd.py") { server in
        try await RelayFixture.run(startsDaemon: false) { relay in
          let config = try relay.scratch.write(
            "irc.json",
            ##"{"server": "127.0.0.1", "port": \##(server.ports[0]), "tls": false, "channels": ["#work"]}"##)
          let command = try await relay.command(
            "plugins", "check", Built.executable("pi-relay-irc"), "--config", config)
          #expect(command.exit == .exited(0), "\(command.output) \(command.errors)")
        }
      }
    }

    @Test func `a set-up connects, pairs by a code, and ends with a bot that answers`() async throws {
      try await PythonServer.run("irc", script: "ngircd.py") { server in
        try await IRC.person("ann", user: "ann", at: server) { ann in
          try await RelayFixture.run(config: "# mine\n", startsDaemon: false) { relay in
            let port = "port=\(server.ports[0])"
            let questions = try await relay.converse("setup", "irc", "--set", port, "--set", "tls=false") {
              line, answer in
              switch line.prefix(2) {
              case "1.": answer("127.0.0.1")
              case "2.": answer("pibot")
              case "3.": answer("")
              case "4.": answer("#work")
              case "5.": answer("")
              default:
                guard line.hasPrefix("Write this to the bot"), let code = line.split(separator: " ").last else { break }
                try? ann.tell("PRIVMSG pibot :\(code)")
              }
            }
            #expect(questions.exit == .exited(0), "\(questions.output) \(questions.errors)")
            #expect(questions.output.contains { $0.contains("That was ann (\(IRC.annsMask))") }, "\(questions.output)")
            #expect(try relay.configuration.contains("# mine"))
            try await relay.start()
            try await relay.waitForStatus { status in
              status.plugins.first { $0.name == "irc/default" }.map { $0.state == .running && $0.problem == nil }
                == true
            }
            try ann.tell("PRIVMSG pibot :hello")
            await IRC.wait(for: "You wrote: hello", to: "ann", ann)
            let doctor = try await relay.command("doctor")
            #expect(doctor.output.contains { $0.contains("connected as pibot") }, "\(doctor.output)")
          }
        }
      }
    }
  }

  /// The real plugin at a server with accounts, ids, times and history.
  @Suite struct ModernIRCTests {
    private static let account = "account: pibot\naccountPassword: secret"

    private func run(
      _ more: String = account, _ body: (PythonServer, RelayFixture) async throws -> Void
    ) async throws {
      try await PythonServer.run("irc", script: "modern.py") { server in
        let config = IRC.config(port: server.ports[0], more, users: "ann")
        try await RelayFixture.run(config: config) { relay in try await body(server, relay) }
      }
    }

    private func wait(for text: String, _ server: PythonServer, times: Int = 1) async {
      _ = await server.wait { lines in lines.count { $0.contains(text) } >= times ? true : nil }
    }

    @Test func `the bot logs in with SASL, and people are known by their accounts`() async throws {
      try await run { server, relay in
        await wait(for: "JOIN #work", server)
        #expect(server.printed.contains("AUTHENTICATE PLAIN"))
        try server.tell("say @msgid=m1 :ann!~x@elsewhere.test PRIVMSG #work :a nick alone")
        try await relay.waitForLog("unknown:ann!~x@elsewhere.test")
        try server.tell("say @msgid=m2;account=ann :annie!~x@elsewhere.test PRIVMSG #work :an account")
        await wait(for: "PRIVMSG #work :You wrote: [annie]: an account", server)
        #expect(!server.printed.contains { $0.contains("a nick alone") })
        #expect(!server.printed.contains { $0.hasPrefix("WHOIS") })
      }
    }

    @Test
    func `a server's own certificate is trusted when it is configured, and an unknown one ends the connection`()
      async throws
    {
      let scratch = try TemporaryFolder()
      let script = URL(filePath: #filePath).deletingLastPathComponent().path + "/../Fixtures/fake-discord/certificates"
      _ = try await Command.run(script, [scratch.path], environment: ["PATH": "/usr/bin:/bin"])
      try await PythonServer.run("irc", script: "modern.py", ["--tls", scratch.path]) { server in
        func config(_ more: String) -> String {
          IRC.config(port: server.ports[0], isSecure: true, Self.account + more, users: "ann")
        }
        try await RelayFixture.run(config: config("")) { relay in
          try await relay.waitForStatus { status in
            status.plugins.first { $0.name == "irc/default" }?.problem?.contains("certificate") == true
          }
          #expect(server.printed.count == 1)
        }
        try await RelayFixture.run(config: config("\ntrust: \(scratch.path)/ca.pem")) { _ in
          await wait(for: "JOIN #work", server)
          try server.tell("say @msgid=m1;account=ann :ann!~x@home.test PRIVMSG pibot :hello")
          await wait(for: "WHOIS ann", server)
        }
      }
    }

    @Test func `an answer whose receipt is lost with the connection is sent again with a mark`() async throws {
      try await run { server, _ in
        await wait(for: "JOIN #work", server)
        try server.tell("mute")
        await wait(for: "mute", server)
        try server.tell("say @msgid=m1;account=ann :ann!~a@home.test PRIVMSG #work :hello")
        await wait(for: "PRIVMSG #work :You wrote: [ann]: hello", server)
        await wait(for: "PING :", server)
        try server.tell("drop")
        await wait(for: "You wrote: [ann]: hello", server, times: 2)
        let answers = server.printed.filter { $0.contains("[ann]: hello") || $0.contains("(possible repeat)") }
        #expect(answers.contains { $0.contains("(possible repeat)") }, "\(answers)")
      }
    }

    @Test func `a password that the server refuses is reported, with the way to try it again`() async throws {
      try await run("account: pibot\naccountPassword: wrong") { server, relay in
        let status = try await relay.waitForStatus { status in
          status.plugins.first { $0.name == "irc/default" }?.problem?.contains("refuses the account") == true
        }
        let problem = status.plugins.first { $0.name == "irc/default" }?.problem
        #expect(problem?.contains("pi-relayd plugins restart irc/default") == true, "\(problem ?? "")")
        #expect(server.printed.count { $0 == "AUTHENTICATE PLAIN" } == 1)
      }
    }

    @Test func `messages written while the bot was away are fetched in order, and none is answered twice`()
      async throws
    {
      try await run { server, _ in
        await wait(for: "JOIN #work", server)
        func line(_ number: Int, _ text: String) -> String {
          "@time=2026-11-24T10:00:0\(number).000Z;msgid=m\(number);account=ann :ann!~a@home.test PRIVMSG #work :\(text)"
        }
        // Once the second is being answered, the first answer is known to have arrived.
        for (number, text) in [(1, "one"), (2, "(two)")] {
          try server.tell("say " + line(number, text))
          await wait(for: "You wrote: [ann]: \(text)", server)
        }
        for (number, text) in [(1, "one"), (2, "(two)"), (3, "three"), (4, "four")] {
          try server.tell("keep " + line(number, text))
        }
        try server.tell("drop")
        await wait(for: "You wrote: [ann]: four", server)
        let answers = server.printed.filter { $0.contains("You wrote: [ann]: ") }
        #expect(["one", "three", "four"].map { text in answers.count { $0.contains("[ann]: \(text)") } } == [1, 1, 1])
        #expect(server.printed.contains("CHATHISTORY AFTER #work timestamp=2026-11-24T10:00:02.000Z 100"))
      }
    }
  }
}
