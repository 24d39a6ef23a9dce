import FoundationEssentials
import RelayConcurrency
import RelayModel
import RelayStore
import RelayWire
import TestSupport

/// A table in the database of a drill's daemon, in which triggers write down each stage of each message as it is committed.
final class StageJournal: Sendable {
  private let database: String
  /// Steps that the drill took itself, each with the number of the row before it.
  private let steps = Locked<[(after: Int, step: MessageHistory.Step)]>([])

  /// - Parameter database: that of a daemon that is ready.
  init(in database: String) throws {
    self.database = database
    let columns = "instance, conversation, id, stage, session, entryBefore, outcome"
    let copy = """
      INSERT INTO stageJournal (\(columns)) VALUES (
        new.instance, new.conversation, new.id, new.stage, new.session, new.entryBefore, new.outcome);
      """
    try Self.open(database).execute(
      """
      CREATE TABLE stageJournal (number INTEGER PRIMARY KEY, \(columns));
      CREATE TRIGGER stageOfNewMessage AFTER INSERT ON message BEGIN \(copy) END;
      CREATE TRIGGER stageOfMessage AFTER UPDATE OF stage ON message BEGIN \(copy) END;
      """)
  }

  private static func open(_ path: String) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path, creates: false)
    try connection.execute("PRAGMA busy_timeout = 5000")
    return connection
  }

  /// Notes a step of the drill behind the rows that are committed, while the daemon runs.
  func note(_ step: MessageHistory.Step) throws { try note(step, in: database) }

  /// Notes that the daemon was killed and is gone. Reads copies: to close the database itself would tidy it up for the next
  /// daemon.
  func noteKilledDaemon() throws {
    let folder = try TemporaryFolder()
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: database + suffix) {
      try FileManager.default.copyItem(atPath: database + suffix, toPath: "\(folder.path)/relay.db\(suffix)")
    }
    try note(.daemonKilled, in: folder.path + "/relay.db")
  }

  private func note(_ step: MessageHistory.Step, in database: String) throws {
    let last = try Self.open(database).rows("SELECT ifnull(max(number), 0) FROM stageJournal") { $0.integer(0) }
    steps.withLock { $0.append((last.first ?? 0, step)) }
  }

  /// The histories of all messages, in the order of their arrival, each with all steps of the drill.
  func histories() throws -> [(key: MessageKey, history: MessageHistory)] {
    let rows = try Self.open(database).rows(
      "SELECT number, instance, conversation, id, stage, session, entryBefore, outcome FROM stageJournal ORDER BY number"
    ) { row in
      let key = MessageKey(
        conversation: ConversationKey(instance: row.text(1), conversation: row.text(2)), id: row.text(3))
      let stage = try MessageStage(
        code: row.integer(4), session: row.optionalText(5), entryBefore: row.optionalText(6))
      return (number: row.integer(0), key: key, step: Self.step(stage, outcome: row.text(7)))
    }
    let steps = steps.withLock { $0 }
    var keys: [MessageKey] = []
    for row in rows where !keys.contains(row.key) { keys.append(row.key) }
    return keys.map { key in
      var rest = steps[...]
      var history = MessageHistory(key.id)
      for row in rows where row.key == key {
        while let next = rest.first, next.after < row.number { history.steps.append(rest.removeFirst().step) }
        history.steps.append(row.step)
      }
      history.steps += rest.map(\.step)
      return (key, history)
    }
  }

  private static func step(_ stage: MessageStage, outcome: String) -> MessageHistory.Step {
    switch stage {
    case .received: .stored(.received)
    case .handling: .stored(.handling)
    case .dispatching(_, let position): .stored(.dispatching(after: position))
    case .accepted: .stored(.accepted)
    case .settled, .interrupted, .dropped: .ended(stage, MessageSettled.Outcome(rawValue: outcome) ?? .handled)
    }
  }
}
