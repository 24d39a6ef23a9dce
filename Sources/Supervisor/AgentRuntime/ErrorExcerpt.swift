internal import RelayText

/// The lines of a program's standard error that explain its failure. A person is shown these in place of the whole log.
struct ErrorExcerpt {
  /// Lines kept of the beginning, and as many of the end.
  private static let keptLines = 40
  private static let lineLimit = 300
  static let maximumLines = 3

  private var first: [String] = []
  private var last: [String] = []

  mutating func append(_ line: String) {
    let line = TextSanitizer.line(line, limit: Self.lineLimit)
    if first.count < Self.keptLines { first.append(line) } else { last = last.suffix(Self.keptLines - 1) + [line] }
  }

  /// The first error; where no line calls itself one, the first lines that are more than a warning.
  var firstError: String? { Self.joined(Self.telling(first), from: Self.isError) }

  /// The last error, of a process that ran for long before it ended.
  var lastError: String? {
    let lines = Self.telling(first + last)
    guard let index = lines.lastIndex(where: Self.isError) else { return lines.last }
    return Self.joined(Array(lines[index...]), from: { _ in true })
  }

  private static func joined(_ lines: [String], from isFirst: (String) -> Bool) -> String? {
    guard !lines.isEmpty else { return nil }
    let start = lines.firstIndex(where: isFirst) ?? 0
    return lines[start...].prefix(maximumLines).joined(separator: "\n")
  }

  /// Without warnings, the frames of a stack, and what Node.js prints around an error.
  private static func telling(_ lines: [String]) -> [String] {
    lines.filter { line in
      let lower = line.lowercased()
      return !line.isEmpty && !lower.hasPrefix("warning") && !lower.contains("warning:")
        && !lower.hasPrefix("no project session found") && !lower.hasPrefix("at ") && !lower.hasPrefix("throw ")
        && !lower.hasPrefix("node.js v")
        && !lower.hasPrefix("(use `node") && line.contains { $0.isLetter || $0.isNumber }
    }
  }

  private static let errorWords = [
    "error", "cannot", "can't", "could not", "failed", "not found", "no such", "unknown", "invalid", "denied",
    "refused",
    "unable", "missing", "fatal",
  ]

  private static func isError(_ line: String) -> Bool {
    let lower = line.lowercased()
    return errorWords.contains { lower.contains($0) }
  }
}
