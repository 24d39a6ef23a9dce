internal import RelayConcurrency

/// Lines that come from many tasks.
package final class Lines: Sendable {
  private let lines = Locked<[String]>([])

  package init() {}

  package func add(_ line: String) { lines.withLock { $0.append(line) } }

  package var text: String { lines.withLock { $0.joined(separator: "\n") } }
}
