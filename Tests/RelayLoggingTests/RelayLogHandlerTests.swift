import FoundationEssentials
import Logging
import RelayConcurrency
import RelayModel
import TestSupport
import Testing

@testable import RelayLogging

@Suite(.timeLimit(.minutes(1))) struct RelayLogHandlerTests {
  private struct Stage {
    let folder: TemporaryFolder
    let shown = Locked<[String]>([])
    let log: DaemonLog

    init(_ level: Logger.Level = .info) throws {
      folder = try TemporaryFolder()
      let shown = shown
      log = DaemonLog(
        file: LogFile(path: folder.path + "/pi-relayd.log", limits: .init()), level: level,
        say: { line in shown.withLock { $0.append(line) } })
    }

    /// The lines of the file after their time.
    func lines() async -> [String] {
      await log.flush(within: .seconds(20), clock: ContinuousClock())
      let data = FileManager.default.contents(atPath: folder.path + "/pi-relayd.log") ?? Data()
      return String(decoding: data, as: UTF8.self).split(separator: "\n").map { String($0.dropFirst(25)) }
    }
  }

  @Test func `a line goes to the file with level and metadata, and to the terminal without`() async throws {
    let stage = try Stage()
    stage.log.logger.with("instance", "discord/work").warning("it ended", metadata: ["session": "1f3a"])
    stage.log.logger.error("no space")
    #expect(
      await stage.lines() == ["warning [instance=discord/work session=1f3a] it ended", "error no space"])
    #expect(stage.shown.withLock { $0 } == ["discord/work: it ended", "no space"])
  }

  @Test func `a line about a session of a conversation names both`() async throws {
    let stage = try Stage()
    let key = ConversationKey(instance: "discord/work", conversation: "c1")
    stage.log.logger.with(key).with(session: "1f3a", named: "my app").error("no")
    #expect(await stage.lines() == [#"error [instance=discord/work session=1f3a name="my app" conversation=c1] no"#])
    #expect(stage.shown.withLock { $0 } == ["discord/work:c1: session my app: no"])
  }

  @Test func `loggers that were made before follow a change of the level`() async throws {
    let stage = try Stage(.warning)
    let logger = stage.log.logger.with("instance", "x")
    logger.info("one")
    stage.log.level = .debug
    logger.debug("two")
    stage.log.level = .error
    logger.warning("three")
    #expect(await stage.lines() == ["debug [instance=x] two"])
  }

  @Test func `a logger with a level of its own leaves the others alone`() async throws {
    let stage = try Stage()
    var loud = stage.log.logger
    loud.logLevel = .debug
    loud.debug("one")
    stage.log.logger.debug("two")
    #expect(await stage.lines() == ["debug one"])
  }
}
