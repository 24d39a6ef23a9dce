/// The recovery of what an earlier daemon left unfinished, by messenger instance. Each is recovered once; only when all of its
/// work is queued does anything that depends on it hold, such as that a session has nothing left to do.
struct RecoveryProgress {
  private enum Stage { case begun, finished }

  private var stages: [String: Stage] = [:]

  /// - Returns: false when it was begun before, whether it has come to its end or not.
  mutating func begin(_ instance: String) -> Bool {
    guard stages[instance] == nil else { return false }
    stages[instance] = .begun
    return true
  }

  mutating func finish(_ instance: String) { stages[instance] = .finished }

  func isFinished(_ instance: String) -> Bool { stages[instance] == .finished }
}
