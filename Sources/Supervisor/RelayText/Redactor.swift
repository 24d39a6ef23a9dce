package import Logging
internal import RelayConcurrency
package import RelayJSON
internal import RelayTransport
internal import RelayWire

/// Takes out of all that a conversation is shown what looks like a secret, line by line: of what several lines hold, only a
/// private key is found. A line on which a pattern takes too many steps is taken out as a whole.
package struct Redactor: Sendable {
  static let replacement = "[redacted]"
  /// The name in the configuration that includes the built-in patterns.
  package static let builtInName = "usual"

  /// Tokens of well-known services, and what is assigned to names of secrets. No match is longer than `builtInWords` words
  /// or depends on words after it.
  static let usual = [
    #"\d{8,20}:[A-Za-z0-9_\-]{20,}"#,
    #"\b(?:sk|rk|pk)[\-_][A-Za-z0-9_\-]{16,}"#,
    #"gh[pousr]_[A-Za-z0-9]{16,}"#,
    #"github_pat_[A-Za-z0-9_]{20,}"#,
    #"(?:AKIA|ASIA)[0-9A-Z]{16}"#,
    #"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+"#,
    #"xox[abeoprs]-[A-Za-z0-9\-]{10,}"#,
    #"xapp-[A-Za-z0-9\-]{10,}"#,
    #"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_\-]+"#,
    #"[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}"#,
    #"Bearer\s+[A-Za-z0-9._~+/\-]{16,}=*"#,
    #"(?i)\bauthorization["']?\s*[:=]\s*["']?(?:basic|token)\s+[A-Za-z0-9._~+/\-]{8,}=*"#,
    #"[A-Z][A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD)=\S{6,}"#,
    // In prose a colon follows these words, too: a secret has a digit, and no blank.
    #"(?i)(?:api[_\-]?key|token|secret|password|passwd)["']?\s*[:=]\s*["']?(?=[^\s"']*[0-9])[^\s"']{8,}"#,
    #"(?i)--?(?:token|password|secret|api-?key)\s+["']?(?=[^\s"']*[0-9])[^\s"']{8,}"#,
    #"(?i)[?&](?:[a-z0-9_\-]{0,40}(?:token|secret|key|signature)|sig)=[^&\s"')>]{6,}"#,
    // Its lines after the first are taken out by `PrivateKeyLines`.
    #"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----END).)*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?"#,
  ]

  /// The greatest number of words that a match of `usual` consists of, keys apart.
  private static let builtInWords = 4

  private let patterns: [(text: String, pattern: Pattern)]
  /// All patterns are built in, so that the words of a line can be shown before the line is whole.
  private let matchesWords: Bool
  private let coversKeys: Bool
  private let logger: Logger?
  /// Patterns that took too many steps.
  private let reported = Locked<Set<String>>([])

  /// - Parameters:
  ///   - patterns: regular expressions that the reader of the configuration has checked, and `usual`.
  ///   - logger: gets one line for each pattern that takes too many steps.
  package init(_ patterns: [String], logger: Logger? = nil) {
    var names: Set<String> = []
    let unique = patterns.filter { names.insert($0).inserted }
    self.patterns = unique.flatMap { $0 == Self.builtInName ? Self.usual : [$0] }
      .compactMap { text in Pattern(text).map { (text, $0) } }
    matchesWords = unique == [Self.builtInName]
    coversKeys = unique.contains(Self.builtInName)
    self.logger = logger
  }

  package var isEmpty: Bool { patterns.isEmpty }

  package func apply(to text: String) -> String {
    guard !isEmpty else { return text }
    var key = PrivateKeyLines()
    var lines: [String] = []
    // By scalars: "\r\n" is one character.
    for line in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false) {
      let hasReturn = line.last == "\r"
      let words = String(hasReturn ? line.dropLast() : line)
      if coversKeys, key.takes(words) { continue }
      lines.append(redacted(words) + (hasReturn ? "\r" : ""))
    }
    return lines.joined(separator: "\n")
  }

  /// The end of the lines of a growing text that nothing which follows changes: of the whole lines, without a private key
  /// that may go on.
  package func settledEnd(of text: String) -> String.Index {
    guard var end = text.utf8.lastIndex(of: UInt8(ascii: "\n")).map({ text.utf8.index(after: $0) }) else {
      return text.startIndex
    }
    guard coversKeys, text.contains(PrivateKeyLines.beginning) else { return end }
    var (key, start) = (PrivateKeyLines(), text.startIndex)
    for line in text[..<end].unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      if !key.takes(String(line)), key.isOpen { start = line.startIndex }
    }
    if key.isOpen { end = start }
    return end
  }

  /// The redacted beginning of a line that is not whole; empty where it cannot be known yet.
  package func settledWords(of line: String) -> String {
    guard matchesWords, line.utf8.count <= Self.maximumGrowingLine, !line.utf8.contains(UInt8(ascii: "\n")),
      !line.contains("-----")
    else { return "" }
    var end = line.endIndex
    for _ in 0..<Self.builtInWords {
      let word = line[..<end].lastIndex { !$0.isWhitespace }
      let blank = word.flatMap { line[..<$0].lastIndex(where: \.isWhitespace) }
      guard let blank else { return "" }
      end = line.index(after: blank)
    }
    let beginning = apply(to: String(line[..<end]))
    return apply(to: line).hasPrefix(beginning) ? beginning : ""
  }

  /// A longer line is shown when it is whole, as each of its words costs a look at all that precede it.
  private static let maximumGrowingLine = 2_000

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

/// Finds the lines of a private key after its first, which begins it. A pure value.
struct PrivateKeyLines {
  static let beginning = "-----BEGIN "
  /// Lines of a key may follow.
  private(set) var isOpen = false

  /// - Returns: true for a line of a key after its first.
  mutating func takes(_ line: String) -> Bool {
    if isOpen {
      if line.contains("-----END ") {
        isOpen = false
        return true
      }
      if Self.isOfKey(line) { return true }
    }
    isOpen = line.contains(Self.beginning) && line.contains("PRIVATE KEY-----") && !line.contains("-----END ")
    return false
  }

  /// Base64, a header of an encrypted key, or the empty line after it.
  private static func isOfKey(_ line: String) -> Bool {
    let line = line.filter { !$0.isWhitespace }
    if line.hasPrefix("Proc-Type:") || line.hasPrefix("DEK-Info:") { return true }
    return line.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
        true
      default: false
      }
    }
  }
}
