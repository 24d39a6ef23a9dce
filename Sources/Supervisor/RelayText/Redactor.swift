package import Logging
internal import RelayConcurrency
internal import RelayTransport
package import RelayWire

/// Takes out of all that a conversation is shown what looks like a secret, line by line: a secret that is cut in two by the
/// end of a line is not found. A line on which a pattern takes too many steps is taken out as a whole.
package struct Redactor: Sendable {
  static let replacement = "[redacted]"
  /// The name in the configuration that includes the built-in patterns.
  package static let builtInName = "usual"

  /// Tokens of well-known services, and what is assigned to variables named after secrets.
  static let usual = [
    #"\d{8,20}:[A-Za-z0-9_\-]{20,}"#,
    #"\b(?:sk|rk|pk)[\-_][A-Za-z0-9_\-]{16,}"#,
    #"gh[pousr]_[A-Za-z0-9]{16,}"#,
    #"github_pat_[A-Za-z0-9_]{20,}"#,
    #"(?:AKIA|ASIA)[0-9A-Z]{16}"#,
    #"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+"#,
    #"xox[abeoprs]-[A-Za-z0-9\-]{10,}"#,
    #"[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}"#,
    #"Bearer +[A-Za-z0-9._~+/\-]{16,}=*"#,
    #"[A-Z][A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD)=\S{6,}"#,
  ]

  private let patterns: [(text: String, pattern: Pattern)]
  private let logger: Logger?
  /// Patterns that took too many steps.
  private let reported = Locked<Set<String>>([])

  /// - Parameters:
  ///   - patterns: regular expressions that the reader of the configuration has checked, and `usual`.
  ///   - logger: gets one line for each pattern that takes too many steps.
  package init(_ patterns: [String], logger: Logger? = nil) {
    self.patterns = patterns.flatMap { $0 == Self.builtInName ? Self.usual : [$0] }
      .compactMap { text in Pattern(text).map { (text, $0) } }
    self.logger = logger
  }

  package var isEmpty: Bool { patterns.isEmpty }

  package func apply(to text: String) -> String {
    guard !isEmpty else { return text }
    // By scalars: "\r\n" is one character.
    return text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let hasReturn = line.last == "\r"
      let words = String(hasReturn ? line.dropLast() : line)
      return redacted(words) + (hasReturn ? "\r" : "")
    }.joined(separator: "\n")
  }

  private func redacted(_ line: String) -> String {
    var line = line
    for (text, pattern) in patterns {
      guard let rest = pattern.replacing(in: line, with: Self.replacement) else {
        if reported.withLock({ $0.insert(text).inserted }) {
          logger?.warning(
            "delivery.redact: \"\(text)\" takes too long on some lines, which are therefore not shown; simplify the expression"
          )
        }
        return Self.replacement
      }
      line = rest
    }
    return line
  }

  /// One line, redacted as it came and as it is shown, before it is cut.
  package func line(_ text: String, limit: Int = 48) -> String {
    guard !isEmpty else { return TextSanitizer.line(text, limit: limit) }
    return TextSanitizer.line(apply(to: TextSanitizer.line(apply(to: text), limit: .max)), limit: limit)
  }

  /// The texts in a value that an agent has made up, names apart.
  package func apply(to value: JSONValue) -> JSONValue {
    guard !isEmpty else { return value }
    return switch value {
    case .string(let text): .string(apply(to: text))
    case .array(let items): .array(items.map(apply))
    case .object(let members): .object(members.mapValues(apply))
    case .null, .bool, .integer, .number: value
    }
  }
}
