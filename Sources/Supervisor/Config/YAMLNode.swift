/// A place in a YAML file, counted from 1.
package struct Mark: Sendable, Hashable, CustomStringConvertible {
  package var line: Int
  package var column: Int

  package init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  package var description: String { "\(line):\(column)" }
}

/// A parsed YAML document, with the place of everything.
package indirect enum YAMLNode: Sendable, Equatable {
  /// `isPlain`: written without quotes, so that `true` and `12` are not strings.
  case scalar(String, isPlain: Bool, Mark)
  case sequence([YAMLNode], Mark)
  case mapping([Entry], Mark)

  package struct Entry: Sendable, Equatable {
    package var key: String
    package var mark: Mark
    package var value: YAMLNode
  }

  package var mark: Mark {
    switch self {
    case .scalar(_, _, let mark), .sequence(_, let mark), .mapping(_, let mark): mark
    }
  }

  /// The kind of value, for messages.
  package var kind: String {
    switch self {
    case .scalar: "a single value"
    case .sequence: "a list"
    case .mapping: "a group of settings"
    }
  }

  /// An empty value, as after a key with nothing behind it.
  package var isNull: Bool {
    if case .scalar(let text, isPlain: true, _) = self { return ["", "~", "null", "Null", "NULL"].contains(text) }
    return false
  }
}
