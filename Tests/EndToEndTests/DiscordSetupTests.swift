import ControlServer
import FoundationEssentials
import ProcessSupervision
import RelayConcurrency
import RelayHome
import RelayJSON
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
  /// From a token to a bot that answers, and what `doctor` finds.
  @Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers"))
  struct DiscordSetupTests {
    @Test func `a set-up checks the token, the portal and the servers, pairs by a code, and keeps the file's comments`()
      async throws
    {
      try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
        try await RelayFixture.run(config: "# mine\nmachine: {name: bench}   # the desk\n", startsDaemon: false) {
          relay in
          try Discord.tell(["do": "portal", "flags": 0, "invited": false], discord)
          let api = "api=http://127.0.0.1:\(discord.ports[1])"
          let channels = Locked([Discord.general, "123456789012345678"])
          let questions = try await relay.converse("setup", "discord", "--set", api) { line, answer in
            switch line {
            case let line where line.hasPrefix("The token"): answer(line.count > 0 ? "\"the-token\"" : "")
            case let line where line.contains("is off: switch it on"):
              try? Discord.tell(["do": "portal", "flags": 524288], discord)
              answer("")
            case let line where line.hasPrefix("It is in no server yet"):
              try? Discord.tell(["do": "portal", "invited": true], discord)
              answer("")
            case let line where line.hasPrefix("5."):
              // The first time one that is not there.
              answer(channels.withLock { $0.popLast() } ?? "")
            case let line where line.hasPrefix("6."): answer("")
            case let line where line.hasPrefix("Write this to the bot"):
              let code = line.split(separator: " ").last.map(String.init) ?? ""
              try? Discord.say(code, to: discord)
            default: break
            }
          }
          #expect(questions.exit == .exited(0), "\(questions.output) \(questions.errors)")
          let said = questions.output.joined(separator: "\n")
          #expect(said.contains("scope=bot+applications.commands&permissions=309237746752"))
          #expect(said.contains("The bot sees no channel 123456789012345678"))
          #expect(said.contains("That was Ann (\(Discord.ann))"))
          #expect(!said.contains("the-token"))
          let file = relay.home.path + "/relay.yaml"
          let text = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
          #expect(text.contains("# mine") && text.contains("# the desk") && !text.contains("the-token"), "\(text)")
          let secret = relay.home.path + "/secrets/discord-default-token"
          let mode = try FileManager.default.attributesOfItem(atPath: secret)[.posixPermissions] as? Int
          #expect(mode == 0o600)
          try await relay.start()
          _ = await Discord.wait(at: discord) { $0.identifies > 1 }
          try Discord.say("hello", to: discord)
          await Discord.waitForText("You wrote: hello", at: discord)
        }
      }
    }

    @Test func `the assistant bot's bot.config.toml is imported, and its faults are reported with their place`()
      async throws
    {
      try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
        try await RelayFixture.run(config: "# mine\n", startsDaemon: false) { relay in
          let file = try relay.scratch.write(
            "bot.config.toml",
            """
            [discord]
            bot_token = "the-token"   # of the portal
            bot_owner_user_id = \(Discord.ann)
            trusted_user_ids = []
            [pi]
            data_dir = "data"
            session_ttl_seconds = 600
            [bot]
            worker_concurrency = 2
            """)
          let broken = try relay.scratch.write("broken.toml", "[discord]\nbot_token = \n")
          let refused = try await relay.command("setup", "discord", "--import", broken)
          #expect(refused.exit == .exited(1))
          #expect(refused.errors.contains { $0.contains("broken.toml:2:") }, "\(refused.errors)")

          let api = "api=http://127.0.0.1:\(discord.ports[1])"
          let done = try await relay.command("setup", "discord", "--set", api, "--import", file)
          #expect(done.exit == .exited(0), "\(done.output) \(done.errors)")
          let text = try relay.configuration
          #expect(text.contains("# mine") && text.contains("use: assistant") && !text.contains("the-token"), "\(text)")
          try await relay.start()
          _ = await Discord.wait(at: discord) { $0.identifies > 0 }
          try Discord.say("hello", to: discord)
          await Discord.waitForText("You wrote: hello", at: discord)
          #expect(try await relay.status().sessions.map(\.directory) == [relay.scratch.path + "/data"])
        }
      }
    }

    @Test func `doctor lists by channel what is missing at Discord`() async throws {
      try await Discord.run { discord, relay in
        let good = try await relay.command("doctor").output.joined(separator: "\n")
        #expect(good.contains("#general: all permissions are there"), "\(good)")
        try Discord.tell(["do": "portal", "flags": 0], discord)
        // Attach Files and Send Messages in Threads.
        try Discord.tell(
          ["do": "deny", "channel": .string(Discord.general), "bits": .string("\(1 << 15 | 1 << 38)")], discord)
        let bad = try await relay.command("doctor").output.joined(separator: "\n")
        #expect(bad.contains("the bot lacks Send Messages in Threads, Attach Files"), "\(bad)")
        #expect(bad.contains("Message Content Intent is off"))
      }
    }

    @Test func `another daemon that answers with the same token is reported`() async throws {
      try await Discord.run("dms: true", top: "") { discord, relay in
        try Discord.say("hello", to: discord)
        await Discord.waitForText("You wrote: hello", at: discord)
        let good = try await relay.command("doctor").output.joined(separator: "\n")
        #expect(!good.contains("two daemons"), "its own messages are nobody else's: \(good)")
        // The bot's own message, sent by somebody else.
        for place in [Discord.other, Discord.general] {
          try Discord.say(
            "You wrote: hello", by: "900000000000000001", isGuild: true, channel: place,
            with: ["nonce": "rzzzzz.0123456789ABCDEF01"], to: discord)
        }
        // Events of Discord are handled in order.
        try Discord.say("again", to: discord)
        await Discord.waitForText("You wrote: again", at: discord)
        let bad = try await relay.command("doctor").output.joined(separator: "\n")
        #expect(bad.contains("two daemons on one token: another one answered in channel \(Discord.general)"), "\(bad)")
        let log = try await relay.command("logs", "discord/default").output.joined(separator: "\n")
        #expect(log.contains("another pi-relay answers with this bot's token in channel \(Discord.general)"), "\(log)")
        #expect(!log.contains("token in channel \(Discord.other)"))
      }
    }

    @Test func `doctor names a person who cannot be written to, and why`() async throws {
      try await Discord.run { discord, relay in
        try discord.tell(#"{"do": "fail", "statuses": [[403, 50007], [403, 50007]]}"#)
        try Discord.say("hello", to: discord)
        try await relay.waitForStatus { ($0.deliveries ?? []).contains { $0.failed > 0 } }
        let words = try await relay.command("doctor").output.joined(separator: "\n")
        #expect(
          words.contains("message(s) could not be shown; the last: Discord does not let the bot write"))
        #expect(words.contains("have blocked it"))
      }
    }

    @Test func `an error that Discord reports during pairing ends the wait`() async throws {
      try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
        try await RelayFixture.run(config: "", startsDaemon: false) { relay in
          let api = "api=http://127.0.0.1:\(discord.ports[1])"
          let run = try await relay.converse("setup", "discord", "--set", api) { line, answer in
            switch line {
            case let line where line.hasPrefix("The token"): answer("the-token")
            case let line where line.hasPrefix("5.") || line.hasPrefix("6."): answer("")
            case let line where line.hasPrefix("Write this to the bot"):
              try? Discord.tell(["do": "close", "code": 4014], discord)
            default: break
            }
          }
          #expect(run.exit == .exited(1))
          let said = (run.output + run.errors).joined(separator: "\n")
          #expect(said.contains("Discord does not grant the Message Content intent; switch it on"), "\(said)")
        }
      }
    }

    @Test(arguments: [true, false])
    func `a code that could not be shown is told apart from a code that nobody wrote`(isReached: Bool) async throws {
      try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
        try await RelayFixture.run(config: "", startsDaemon: false) { relay in
          if !isReached { try discord.tell(#"{"do": "refuse", "on": true}"#) }
          let api = "api=http://127.0.0.1:\(discord.ports[1])"
          let run = try await relay.converse("setup", "discord", "--set", api, "--set", "pairingSeconds=2") {
            line, answer in
            if line.hasPrefix("The token") { answer("the-token") }
            if line.hasPrefix("5.") || line.hasPrefix("6.") { answer("") }
          }
          #expect(run.exit == .exited(1))
          let said = (run.output + run.errors).joined(separator: "\n")
          #expect(said.contains("Write this to the bot") == isReached)
          #expect(said.contains("nobody wrote the code to the bot within 2 s") == isReached, "\(said)")
          #expect(
            said.contains(
              "the code could not be shown, because the bot was not connected within 2 s: Discord's gateway cannot be reached"
            )
              != isReached, "\(said)")
        }
      }
    }

    @Test func `a token that Discord refuses is reported and never printed`() async throws {
      try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
        try await RelayFixture.run(config: "", startsDaemon: false) { relay in
          let api = "api=http://127.0.0.1:\(discord.ports[1])"
          let run = try await relay.converse("setup", "discord", "--set", api, "--set", "token=argv") { line, answer in
            if line.hasPrefix("The token") { answer("wrong-token") }
          }
          #expect(run.exit == .exited(1))
          let said = (run.output + run.errors).joined(separator: "\n")
          #expect(
            said.contains("Discord does not accept this token")
              && said.contains("no token was given that Discord accepts"))
          #expect(!said.contains("wrong-token"))
        }
      }
    }
  }
}
