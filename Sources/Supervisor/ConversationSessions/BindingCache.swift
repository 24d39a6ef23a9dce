internal import RelayConcurrency
internal import RelayModel

/// The sessions of the conversations that were looked up or changed; the store has those of all.
///
/// Two changes of one conversation that overlap may be reported in another order than they are committed in. The
/// conversation is then read from the store again.
final class BindingCache: Sendable {
  private enum Entry {
    case unbound
    case bound(String)

    init(_ session: String?) { self = session.map { .bound($0) } ?? .unbound }

    var session: String? { if case .bound(let session) = self { session } else { nil } }
  }

  enum Change: Sendable {
    case bind(String)
    case unbind
    /// Leaves a conversation that talks to another session as it is.
    case unbindFrom(String)
  }

  /// The changes of one conversation that are on their way to the disk.
  private struct RunningChanges {
    var count = 0
    var haveOverlapped = false
  }

  private struct State {
    var entries: [ConversationKey: Entry] = [:]
    var changes: [ConversationKey: RunningChanges] = [:]
    /// Counts what made values that were read before out of date.
    var version = 0

    /// - Parameter change: `nil` for one that failed.
    mutating func endChange(_ change: Change?, of key: ConversationKey) {
      version += 1
      let hasOverlapped = changes[key]?.haveOverlapped == true
      changes[key]?.count -= 1
      if changes[key]?.count == 0 { changes[key] = nil }
      if hasOverlapped {
        entries[key] = nil
        return
      }
      switch change {
      case .bind(let session): entries[key] = .bound(session)
      case .unbind: entries[key] = .unbound
      case .unbindFrom(let session): if entries[key]?.session == session { entries[key] = .unbound }
      case nil: break
      }
    }
  }

  private let state = Locked(State())

  /// The id of the session of a conversation; `nil` where it talks to none.
  func session(
    of key: ConversationKey, reading: () async throws -> String?
  ) async throws -> String? {
    let (entry, version) = state.withLock { ($0.entries[key], $0.version) }
    if let entry { return entry.session }
    let stored = try await reading()
    return state.withLock { state in
      // The conversation may have chosen a session meanwhile.
      if let entry = state.entries[key] { return entry.session }
      if state.version == version, state.changes[key] == nil { state.entries[key] = Entry(stored) }
      return stored
    }
  }

  /// Stores a change. After a failure the conversation keeps its binding.
  func change(_ key: ConversationKey, _ change: Change, storing: () async throws -> Void) async throws {
    state.withLock { state in
      state.changes[key, default: RunningChanges()].count += 1
      if state.changes[key]?.count != 1 { state.changes[key]?.haveOverlapped = true }
    }
    do {
      try await storing()
    } catch {
      state.withLock { $0.endChange(nil, of: key) }
      throw error
    }
    state.withLock { $0.endChange(change, of: key) }
  }

  /// Forgets the conversations of an instance.
  func forget(instance: String) {
    state.withLock { state in
      state.entries = state.entries.filter { $0.key.instance != instance }
      state.version += 1
    }
  }
}
