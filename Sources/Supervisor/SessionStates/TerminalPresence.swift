package import RelayModel

/// The presence of a pi that a person runs in a terminal, and what people were told of it. A pure value.
package struct TerminalPresence: Sendable, Equatable {
  /// The person's own end of a session, after which pi does not come back by itself.
  package enum Farewell: Sendable, Equatable { case ended, disconnected }

  package enum State: Sendable, Equatable {
    case connected
    /// The person has said so, and the connection is about to end.
    case leaving(Farewell)
    /// Away, for a time that nobody needs to hear of yet; with the number of the absence.
    case away(Int)
    /// Away, and people were told.
    case missed
    /// The person has left, and people were told.
    case left(Farewell)
  }

  /// The news of an end of the connection.
  package enum Departure: Sendable, Equatable {
    case farewell(Farewell)
    /// Nothing yet: only an absence that lasts is told, by its number.
    case absence(Int)
  }

  package private(set) var state = State.connected
  private var absences = 0

  package init() {}

  /// The connection has ended.
  package mutating func left() -> Departure {
    absences += 1
    switch state {
    case .leaving(let farewell):
      state = .left(farewell)
      return .farewell(farewell)
    case .connected, .away: state = .away(absences)
    case .missed, .left: break
    }
    return .absence(absences)
  }

  /// The person ends or leaves the session, which may be heard after the end of the connection.
  ///
  /// - Returns: true where people are to be told now.
  package mutating func says(_ farewell: Farewell) -> Bool {
    switch state {
    case .connected, .leaving: state = .leaving(farewell)
    case .away:
      state = .left(farewell)
      return true
    case .missed: state = .left(farewell)
    case .left: break
    }
    return false
  }

  /// The time has come to tell of an absence.
  ///
  /// - Returns: false where pi is back, or people know.
  package mutating func takeNotice(of absence: Int) -> Bool {
    guard state == .away(absence) else { return false }
    state = .missed
    return true
  }

  /// pi is connected.
  ///
  /// - Returns: true where people were told that it was not.
  package mutating func returned() -> Bool {
    defer { state = .connected }
    switch state {
    case .missed, .left: return true
    case .connected, .leaving, .away: return false
    }
  }

  /// - Parameter isConnected: there is a connection now; a session of an earlier daemon has none before pi comes.
  package func status(isConnected: Bool) -> SessionStatus.Terminal {
    switch state {
    case .left(.ended): .ended
    case .left(.disconnected): .disconnected
    case .connected, .leaving, .away, .missed: isConnected ? .connected : .away
    }
  }
}
