/// The presence of a pi that a person runs in a terminal, and what people were told of it. A pure value.
package struct TerminalPresence: Sendable, Equatable {
  package enum State: Sendable, Equatable {
    case connected
    /// Away, for a time that nobody needs to hear of yet; with the number of the absence.
    case away(Int)
    /// Away, and people were told.
    case missed
  }

  package private(set) var state = State.connected
  private var absences = 0

  package init() {}

  /// pi has left.
  ///
  /// - Returns: the number of the absence.
  package mutating func left() -> Int {
    absences += 1
    if state != .missed { state = .away(absences) }
    return absences
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
    return state == .missed
  }
}
