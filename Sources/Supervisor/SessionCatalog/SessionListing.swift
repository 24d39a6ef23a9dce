internal import AgentRuntime
internal import AgentSessions
package import RelayModel

/// A session as lists show it. Of one that no one has addressed since the start of the daemon there is only the record.
package struct SessionListing: Sendable {
  private enum Source: Sendable {
    case awake(Session)
    case asleep(SessionRecord, configuredModel: String?)
  }

  private let source: Source

  init(_ session: Session) { source = .awake(session) }

  /// - Parameter configuredModel: shown where neither the session nor its agent names another.
  init(_ record: SessionRecord, configuredModel: String?) {
    source = .asleep(record, configuredModel: configuredModel)
  }

  package var id: String {
    switch source {
    case .awake(let session): session.id
    case .asleep(let record, _): record.id
    }
  }

  package var role: SessionRole? {
    switch source {
    case .awake(let session): session.role
    case .asleep(let record, _): record.role
    }
  }

  /// The conversation that began it.
  var home: ConversationKey? {
    switch source {
    case .awake(let session): session.home
    case .asleep(let record, _): record.home
    }
  }

  package func status() async -> SessionStatus {
    switch source {
    case .awake(let session): await session.status()
    case .asleep(let record, let configuredModel):
      SessionStatus(
        id: record.id, name: record.name, directory: record.directory, activity: .asleep,
        model: record.shownModel ?? record.model ?? configuredModel, queued: 0, openDialogs: 0, restarts: 0,
        isDemo: false, terminal: record.isAttached ? .away : nil)
    }
  }
}

extension [SessionListing] {
  func statuses() async -> [SessionStatus] {
    var statuses: [SessionStatus] = []
    for session in self { statuses.append(await session.status()) }
    return statuses
  }
}
