package import Logging

/// A choice of lines of the daemon's log, made line by line: the lines of a message stay together.
package struct LogFilter: Sendable {
  /// This level and those above it; `nil`: every level.
  package var level: Logger.Level?
  /// Beginnings of session ids, of which a line has to be about one; empty: any line.
  package var sessions: [String]
  private var isTaking = true

  package init(level: Logger.Level? = nil, sessions: [String] = []) {
    self.level = level
    self.sessions = sessions
    isTaking = takesEverything
  }

  private var takesEverything: Bool { level == nil && sessions.isEmpty }

  /// Takes the next line of the file.
  ///
  /// - Returns: true when it was chosen.
  package mutating func take(_ line: some StringProtocol) -> Bool {
    if takesEverything { return true }
    if let line = LogLine(parsing: line) { isTaking = matches(line) }
    return isTaking
  }

  private func matches(_ line: LogLine) -> Bool {
    if let level, line.level < level { return false }
    guard !sessions.isEmpty else { return true }
    return line.metadata["session"].map { id in sessions.contains { id.hasPrefix($0) } } ?? false
  }
}
