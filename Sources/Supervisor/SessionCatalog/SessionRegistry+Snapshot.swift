internal import AgentRuntime
package import AgentSessions
internal import Logging
internal import ProcessSupervision
internal import RelayLogging
package import RelayModel
internal import RelayStore
internal import RelayTransport

extension SessionRegistry {
  package struct Snapshot: Codable, Sendable {
    package var sessions: [SessionSnapshot] = []
    /// Agents that the next program does not continue: they end with their input, and are only reaped.
    var leaving: [ChildProcess.Snapshot] = []

    /// Messages that they are at work on.
    package var messages: Set<MessageKey> { Set(sessions.flatMap(\.messages)) }
  }

  /// Stops listening to the agents until `resume`.
  ///
  /// - Returns: nil when a session is not between two events, with its name.
  package func hold() async -> (handover: Snapshot?, busy: String?) {
    var handover = Snapshot()
    for session in awake() {
      switch await session.hold() {
      case .asleep: break
      case .ready(let one): handover.sessions.append(one)
      case .asking(let child): if let child { handover.leaving.append(child) }
      case .busy: return (nil, "session \(await session.name)")
      }
    }
    for session in passing {
      switch await session.hold() {
      case .asleep: break
      case .ready(let one): handover.leaving.append(one.connection.child)
      case .asking(let child): if let child { handover.leaving.append(child) }
      case .busy: return (nil, "session \(await session.name)")
      }
    }
    return (handover, nil)
  }

  package func resume() async { for session in awake() + passing { await session.resume() } }

  /// Continues with the agents of this program's predecessor. Called after `restore`.
  package func adopt(_ handover: Snapshot) async {
    for one in handover.sessions {
      do {
        try await session(one.id)?.adopt(one)
      } catch {
        dependencies.logger.with("session", one.id)
          .error("session \(one.id): its agent could not be continued: \(error)")
      }
    }
    for child in handover.leaving { end(child) }
  }
}
