internal import AgentRuntime
internal import Logging
internal import RelayConcurrency
internal import RelayConfig
internal import RelayLogging
internal import RelayModel
internal import SessionStates

/// The parts of a session that never change.
struct SessionContext: Sendable {
  /// The record as it was when this process made the session: its name and model may have changed since.
  let record: SessionRecord
  let pi: Config.Pi
  let settings: Config.Sessions
  /// False for a session of the supervisor's own, which people neither see nor address.
  let isListed: Bool
  let dependencies: SessionDependencies
  let taskScope: TaskScope
  let emit: @Sendable (SessionEvent) -> Void

  /// Names the session in each line: by its id, as its name may change.
  var logger: Logger { dependencies.logger.with(session: record.id, named: record.name) }

  /// Marks the environment of the session's processes.
  var marker: String { "\(SessionRecord.environmentVariable)=\(record.id)" }
}
