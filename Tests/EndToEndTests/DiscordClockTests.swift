import Drills
import FoundationEssentials
import RelayHome
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
  /// The plugin on a machine whose time of day differs from Discord's.
  @Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers"))
  struct DiscordClockTests {
    /// - Parameter offset: seconds that the plugin's time of day is ahead.
    private func run(
      ahead offset: Int, _ body: (PythonServer, RelayFixture, ShiftedClock) async throws -> Void
    ) async throws {
      let folder = try TemporaryFolder()
      let library = try await Interposer.build(in: folder.path)
      let clock = try ShiftedClock()
      clock.shift(bySeconds: offset)
      let environment = Interposer.shifting("pi-relay-discord", by: clock.file, library: library)
        .map { "\($0.key)=\($0.value)" }.joined(separator: " ")
      try await Discord.run(
        prepare: { discord, relay in
          try Discord.say("long ago", isGuild: true, channel: Discord.general, to: discord)
          let plugin = relay.home.plugins + "/discord"
          let script = "#!/bin/sh\nexec env \(environment) \(Built.executable("pi-relay-discord"))\n"
          try Data(script.utf8).write(to: URL(filePath: plugin))
          try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: plugin)
        },
        { discord, relay in try await body(discord, relay, clock) })
    }

    @Test(arguments: [3_600, -3_600])
    func `commands are answered in private on a machine an hour ahead or behind`(offset: Int) async throws {
      try await run(ahead: offset) { discord, _, _ in
        try await Self.useHelp(1, at: discord)
      }
    }

    @Test func `commands are answered in private after the machine's clock jumps either way`() async throws {
      try await run(ahead: 0) { discord, _, clock in
        try await Self.useHelp(1, at: discord)
        clock.shift(bySeconds: 3_600)
        try await Self.useHelp(2, at: discord)
        clock.shift(bySeconds: -7_200)
        try await Self.useHelp(3, at: discord)
      }
    }

    /// Uses a command in the channel, and expects its answer to be the `count`th that only one person sees.
    private static func useHelp(_ count: Int, at discord: PythonServer) async throws {
      try Discord.use("help", channel: Discord.general, at: discord)
      let ledger = try #require(
        await Discord.wait(at: discord) { ledger in
          ledger.texts.count { $0.text.contains("Write to the agent") } == count
            || ledger.first("came too late") != nil
        })
      #expect(ledger.texts.count { $0.text.contains("Write to the agent") && $0.isPrivate } == count)
      #expect(ledger.first("came too late") == nil)
    }

    @Test(arguments: [3_600, -3_600])
    func `messages of an outage are fetched after a first start an hour ahead or behind, and no earlier ones`(
      offset: Int
    ) async throws {
      try await run(ahead: offset) { discord, _, _ in
        try Discord.say("hello", to: discord)
        await Discord.waitForText("You wrote: hello", at: discord)
        try discord.tell(#"{"do": "invalidate"}"#)
        try discord.tell(#"{"do": "drop"}"#)
        try Discord.say("meanwhile", isGuild: true, channel: Discord.general, to: discord)
        // The direct message is fetched in any case.
        try Discord.say("the last", to: discord)
        await Discord.waitForText("You wrote: the last", at: discord)
        try Discord.say("afterwards", isGuild: true, channel: Discord.general, to: discord)
        let ledger = try #require(await Discord.waitForText("[Ann]: afterwards", at: discord))
        #expect(ledger.first("[Ann]: meanwhile") != nil)
        #expect(ledger.first("long ago") == nil)
      }
    }
  }
}
