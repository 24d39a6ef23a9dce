import RelayConfig
import RelayJSON
import RelayWire
import Testing

@Suite struct BotConfigurationTests {
  private func read(_ json: JSONValue) throws -> BotConfiguration {
    try BotConfiguration(json, name: "bot.config.toml", folder: "/srv/bot")
  }

  private func problems(_ json: JSONValue) -> [String] {
    do {
      _ = try read(json)
      return []
    } catch let problems as BotConfiguration.Problems {
      return problems.lines
    } catch {
      return ["\(error)"]
    }
  }

  @Test func `every setting has its place, ids are listed once, and paths are relative to the file`() throws {
    let bot = try read([
      "discord": ["bot_token": "t", "bot_owner_user_id": 42, "trusted_user_ids": [7, 42, 7]],
      "pi": [
        "executable": "pi", "data_dir": "data", "session_root": "/srv/sessions", "session_ttl_seconds": 0,
        "call_timeout_seconds": 90, "session_sweeper_interval_seconds": 60, "provider": "p", "model": "m",
      ],
      "bot": [
        "queue_maxsize": 500, "worker_concurrency": 2, "heartbeat_interval_seconds": 0, "metrics_interval_seconds": 30,
        "stream_edit_interval_ms": 700, "latency_window_size": 100, "log_level": "INFO", "dashboard": true,
      ],
      "else": [:],
    ])
    #expect(bot.token == "t")
    #expect(bot.users == ["42", "7"])
    #expect(bot.editInterval == 700)
    #expect(bot.unknown == ["bot.dashboard"])
    #expect(
      bot.assistant == [
        .init("owner", "42"), .init("directory", "/srv/bot/data"), .init("sessionDirectory", "/srv/sessions"),
        .init("executable", "pi"), .init("provider", "p"), .init("model", "m"), .init("sessionTimeoutSeconds", 0),
        .init("callTimeoutSeconds", 90), .init("sweepSeconds", 60), .init("maximumQueued", 500), .init("workers", 2),
        .init("heartbeatSeconds", 0), .init("healthSeconds", 30), .init("latencyWindow", 100),
      ])
  }

  @Test func `missing and invalid settings are all named at once`() {
    #expect(
      problems([
        "discord": ["bot_owner_user_id": true, "trusted_user_ids": ["x"]], "bot": ["worker_concurrency": false],
      ])
        == [
          "bot.config.toml: the section [pi] is missing", "bot.config.toml: discord.bot_token: is missing",
          "bot.config.toml: discord.bot_owner_user_id: expected somebody's id, a whole number above 0",
          "bot.config.toml: discord.trusted_user_ids: expected ids, which are whole numbers above 0",
          "bot.config.toml: bot.worker_concurrency: expected a whole number from 1 to 1000",
        ])
    #expect(
      problems([
        "discord": ["bot_token": 5], "pi": ["call_timeout_seconds": -1], "bot": ["queue_maxsize": 0, "log_level": 3],
      ]) == [
        "bot.config.toml: discord.bot_token: expected a text in quotes",
        "bot.config.toml: discord.bot_owner_user_id: is missing",
        "bot.config.toml: pi.call_timeout_seconds: expected a whole number from 0 to 100000000",
        "bot.config.toml: bot.queue_maxsize: expected a whole number from 1 to 1000000",
        "bot.config.toml: bot.log_level: expected a text in quotes",
      ])
  }
}
