import ControlServer
import FoundationEssentials
import ProcessSupervision
import RelayHome
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
  @Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers"))
  struct DiscordTests {
    @Test func `a direct message is answered, and a stranger's is not`() async throws {
      try await Discord.run { discord, relay in
        try Discord.say("let me in", id: "1", by: "100000000000000009", to: discord)
        try Discord.say("hello @everyone", id: "2", to: discord)
        let ledger = try #require(await Discord.waitForText("You wrote: hello @everyone", at: discord))
        #expect(ledger.texts.map(\.text).count { $0.contains("let me in") } == 0)
        #expect(ledger.texts.contains { $0.text == "Not authorized." })
        #expect(ledger.pings == 0)
        #expect(try await relay.plugin("discord/default")?.state == .running)
      }
    }

    @Test func `waiting messages are changed and withdrawn`() async throws {
      try await Discord.run { discord, _ in
        try Discord.say("/slow 20", id: "1", to: discord)
        _ = await Discord.waitForText("The quick", at: discord)
        try Discord.say("first thought", id: "2", to: discord)
        try Discord.say("never mind", id: "3", to: discord)
        try Discord.say("second thought", id: "2", as: "MESSAGE_UPDATE", to: discord)
        _ = await Discord.waitForText("The waiting message was replaced", at: discord)
        try Discord.say("", id: "3", as: "MESSAGE_DELETE", to: discord)
        let ledger = try #require(await Discord.waitForText("You wrote: second thought", at: discord))
        #expect(ledger.texts.contains { $0.text.contains("The waiting message was withdrawn") })
        #expect(!ledger.texts.contains { $0.text.contains("first thought") || $0.text.contains("never mind") })
      }
    }

    @Test func `only the named channels of a server are answered`() async throws {
      try await Discord.run { discord, _ in
        try Discord.say("unheard", id: "1", isGuild: true, channel: "600000000000000001", to: discord)
        try Discord.say("heard", id: "2", isGuild: true, channel: "700000000000000001", to: discord)
        let ledger = try #require(await Discord.waitForText("heard", at: discord))
        #expect(!ledger.texts.contains { $0.text.contains("unheard") })
      }
    }

    @Test func `a long answer grows in one message, within the rate limit, and continues in the next`() async throws {
      try await Discord.run { discord, _ in
        try discord.tell(#"{"do": "limit", "count": 2, "seconds": 0.3}"#)
        try Discord.say("/long 3000", id: "1", to: discord)
        let ledger = try #require(
          await discord.wait { lines in
            let ledger = DiscordLedger(lines)
            return ledger.texts.map(\.text.count).reduce(0, +) >= 3_000 ? ledger : nil
          })
        #expect(ledger.texts.allSatisfy { $0.text.utf16.count <= 2_000 })
        #expect(ledger.texts.count >= 2)
        // Until Discord has said how it counts, each of the two routes may find out once.
        #expect(ledger.refusals <= 2)
      }
    }

    @Test func `a broken connection is resumed, and messages written meanwhile are answered`() async throws {
      try await Discord.run { discord, _ in
        try Discord.say("before", id: "1", to: discord)
        _ = await Discord.waitForText("You wrote: before", at: discord)
        try discord.tell(#"{"do": "drop"}"#)
        try Discord.say("meanwhile", id: "2", to: discord)
        let ledger = try #require(await Discord.waitForText("You wrote: meanwhile", at: discord))
        #expect(ledger.identifies == 1 && ledger.resumes == 1)
        #expect(ledger.texts.count { $0.text.contains("You wrote") } == 2)
      }
    }

    @Test func `a gateway that acknowledges no heartbeat is left, and the session is resumed`() async throws {
      try await Discord.run { discord, _ in
        try discord.tell(#"{"do": "zombie"}"#)
        let ledger = try #require(
          await discord.wait { lines in
            let ledger = DiscordLedger(lines)
            return ledger.resumes > 0 ? ledger : nil
          })
        #expect(ledger.identifies == 1)
        try Discord.say("still there?", id: "1", to: discord)
        _ = await Discord.waitForText("You wrote: still there?", at: discord)
      }
    }

    @Test func `a killed plugin resumes, and answers nothing twice`() async throws {
      try await Discord.run { discord, relay in
        try Discord.say("before", id: "1", to: discord)
        _ = await Discord.waitForText("You wrote: before", at: discord)
        try await relay.crash("discord/default")
        try Discord.say("after", id: "2", to: discord)
        let ledger = try #require(await Discord.waitForText("You wrote: after", at: discord))
        #expect(ledger.identifies == 1 && ledger.resumes == 1)
        #expect(ledger.texts.count { $0.text.contains("You wrote: before") } == 1)
      }
    }

    @Test func `a session that Discord has forgotten is replaced by a new one`() async throws {
      try await Discord.run { discord, _ in
        try discord.tell(#"{"do": "invalidate"}"#)
        try discord.tell(#"{"do": "drop"}"#)
        let ledger = await discord.wait { lines in
          let ledger = DiscordLedger(lines)
          return ledger.identifies == 2 ? ledger : nil
        }
        #expect(ledger?.resumes == 1)
        try Discord.say("hello", id: "1", to: discord)
        _ = await Discord.waitForText("You wrote: hello", at: discord)
      }
    }

    @Test func `an answer whose receipt is lost is shown once`() async throws {
      try await Discord.run { discord, relay in
        try discord.tell(#"{"do": "fail", "statuses": [0, 503, 0, 500]}"#)
        try Discord.say("hello", id: "1", to: discord)
        _ = await Discord.waitForText("You wrote: hello", at: discord)
        try await relay.waitForStatus { $0.deliveries?.allSatisfy { $0.waiting == 0 } ?? true }
        let texts = DiscordLedger(discord.printed).texts.map(\.text)
        #expect(texts.count { $0.contains("You wrote: hello") } == 1, "\(texts)")
      }
    }

    @Test func `faults in the configuration are reported by line`() async throws {
      let config = "messengers:\n  discord:\n    default:\n      token: a b\n      channels: [general]\n"
      try await RelayFixture.run(config: config) { relay in
        let status = try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "discord/default" && $0.state == .misconfigured }
        }
        let problem = try #require(status.plugins.first { $0.name == "discord/default" }?.problem)
        #expect(problem.contains("token holds blanks") && problem.contains("is no id of a channel"), "\(problem)")
      }
    }

    @Test(arguments: [
      ("channels: [700000000000000001]\n", "channels.0: put it in quotes: \"700000000000000001\""),
      ("proxy: ftp://proxy:1\n", "proxy: the scheme ftp is not supported"),
    ])
    func `a setting that no messenger could use is refused by check, start and reload, with its line`(
      line: String, complaint: String
    ) async throws {
      let right = "messengers: {discord: {default: {token: the-token, enabled: false}}}\n"
      try await RelayFixture.run(startsDaemon: false) { relay in
        try relay.scratch.write("home/relay.yaml", right + line)
        for command in [["config", "check"], ["start"]] {
          let refused = try await relay.command(command)
          #expect(refused.exit != .exited(0))
          #expect(
            refused.errors.contains { $0.contains("relay.yaml:2:") && $0.contains(complaint) }, "\(refused.errors)")
        }
        try relay.scratch.write("home/relay.yaml", right)
        try await relay.start()
        try relay.scratch.write("home/relay.yaml", right + line)
        let refused = try await relay.command("reload")
        #expect(refused.exit != .exited(0))
        #expect(refused.errors.contains { $0.contains("relay.yaml:2:") && $0.contains(complaint) }, "\(refused.errors)")
      }
    }

    @Test func `doctor names the variable with an invalid proxy, without its password`() async throws {
      try await RelayFixture.run(config: "", startsDaemon: false) { relay in
        let environment = [
          "https_proxy": "gopher://ann:secret@p:1", "HTTP_PROXY": "http://", "ALL_PROXY": "socks5://p:1",
        ]
        let doctor = try await relay.command(["doctor"], with: .built(with: environment)).output
        #expect(
          doctor.contains(
            "✗ https_proxy: the scheme gopher is not supported; use http, https, socks4, socks5 or socks5h"))
        #expect(doctor.contains { $0.hasPrefix("✗ HTTP_PROXY: there is no host in it") })
        #expect(!doctor.contains { $0.contains("ALL_PROXY") || $0.contains("secret") }, "\(doctor)")
      }
    }

    @Test func `an intent that the portal refuses is reported, and not tried again and again`() async throws {
      try await Discord.run { discord, relay in
        try discord.tell(#"{"do": "close", "code": 4014}"#)
        try await waitForFiles(in: relay.home.logs) {
          let log = FileManager.default.contents(atPath: relay.home.log("discord/default")) ?? Data()
          return String(decoding: log, as: UTF8.self).contains("switch it on in the developer portal")
        }
        let words = "switch it on in the developer portal: Bot, Privileged Gateway Intents, Message Content Intent"
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.name == "discord/default" && $0.problem?.contains(words) == true }
        }
        #expect(DiscordLedger(discord.printed).identifies == 1)
        #expect(try await relay.command("plugins", "restart", "discord/default").exit == .exited(0))
        // The plugin resumes the session that it had: a restart by hand costs no session.
        _ = await discord.wait { DiscordLedger($0).resumes > 0 ? true : nil }
        try Discord.say("hello", id: "1", to: discord)
        _ = await Discord.waitForText("You wrote: hello", at: discord)
        let ledger = DiscordLedger(discord.printed)
        #expect(ledger.identifies == 1 && ledger.resumes == 1)
        #expect(try await relay.plugin("discord/default")?.problem == nil)
      }
    }

    @Test func `an outage of Discord is shown as long as it lasts`() async throws {
      try await Discord.run { discord, relay in
        try discord.tell(#"{"do": "refuse", "on": true}"#)
        try discord.tell(#"{"do": "drop"}"#)
        try await relay.waitForStatus { status in
          status.plugins.contains { $0.problem?.contains("Discord's gateway cannot be reached") == true }
        }
        try discord.tell(#"{"do": "refuse", "on": false}"#)
        try await relay.waitForStatus { $0.plugins.first { $0.name == "discord/default" }?.problem == nil }
        #expect(DiscordLedger(discord.printed).identifies == 1)
      }
    }

    @Test func `a token that Discord refuses is reported, with the place to copy it from`() async throws {
      try await Discord.run(token: "another") { discord, relay in
        try await relay.waitForStatus { status in
          status.plugins.contains {
            $0.name == "discord/default" && $0.state == .running
              && $0.problem?.contains("Discord refuses the token; copy it again from the developer portal") == true
              && $0.problem?.hasSuffix("at once with: pi-relayd plugins restart discord/default") == true
          }
        }
        #expect(relay.log.allSatisfy { !$0.contains("another") })
      }
    }
  }
}
