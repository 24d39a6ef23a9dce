/// A mistake in the configuration: its place, and how to correct it.
package struct ConfigProblem: Error, Sendable, Equatable, CustomStringConvertible {
  package var file: String
  package var mark: Mark
  package var message: String

  package var description: String { "\(file):\(mark): \(message)" }
}

/// Everything wrong with it, in the order of the file.
package struct ConfigProblems: Error, Sendable, Equatable, CustomStringConvertible {
  package var problems: [ConfigProblem]

  package var description: String { problems.map(\.description).joined(separator: "\n") }
}

enum Spelling {
  /// The known word that was probably meant.
  static func nearest(to word: String, in known: some Sequence<String>) -> String? {
    let limit = word.count <= 4 ? 1 : 2
    return known.map { ($0, distance(word.lowercased(), $0.lowercased())) }
      .filter { $0.1 <= limit }
      .min { ($0.1, $0.0) < ($1.1, $1.0) }?.0
  }

  /// Insertions, deletions, replacements and swaps of neighbours between two words.
  static func distance(_ left: String, _ right: String) -> Int {
    let left = Array(left)
    let right = Array(right)
    var rows = [Array(0...right.count)]
    for row in 0..<left.count {
      var current = [row + 1]
      for column in 0..<right.count {
        let cost = left[row] == right[column] ? 0 : 1
        var best = min(rows[row][column + 1] + 1, current[column] + 1, rows[row][column] + cost)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          best = min(best, rows[row - 1][column - 1] + 1)
        }
        current.append(best)
      }
      rows.append(current)
    }
    return rows[left.count][right.count]
  }
}
