package import Logging

/// A line of the daemon's log.
///
/// In the file it is `TIME LEVEL [instance=discord/work session=1f3a name=app conversation=c1] MESSAGE`; without
/// metadata, the brackets are left out. A message of several lines continues on lines without a time.
package struct LogLine: Sendable, Equatable {
  package var level: Logger.Level
  package var metadata: [String: String]
  package var message: String

  package init(_ level: Logger.Level, _ message: String, metadata: [String: String] = [:]) {
    self.level = level
    self.metadata = metadata
    self.message = message
  }

  /// Keys in the order in which they are written; others follow by name.
  private static let order = ["instance", "session", "name", "conversation"]

  /// The line as the log file has it after the time.
  package var text: String {
    let others = metadata.keys.filter { !Self.order.contains($0) }.sorted()
    let pairs = (Self.order + others).compactMap { key in metadata[key].map { "\(key)=\(Self.quoted($0))" } }
    // Empty brackets keep a message that begins with one apart from metadata.
    let brackets = pairs.isEmpty && !message.hasPrefix("[") ? "" : "[\(pairs.joined(separator: " "))] "
    return "\(level.rawValue) \(brackets)\(message)"
  }

  /// The line for a terminal or the journal, which have times of their own.
  package var terminalText: String {
    let conversation = metadata["conversation"].map { ":\($0)" } ?? ""
    let subjects = [metadata["instance"].map { $0 + conversation }, metadata["name"].map { "session \($0)" }]
    return (subjects.compactMap(\.self) + [message]).joined(separator: ": ")
  }

  /// Reads a line of the log file.
  ///
  /// - Parameter line: the line with its time. A line without a level, as earlier versions wrote it, has the level `info`.
  /// - Returns: `nil` for a line that continues the message of an earlier one.
  package init?(parsing line: some StringProtocol) {
    let parts = Substring(line).split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, Self.isTime(parts[0]) else { return nil }
    var rest = parts[1]
    level = .info
    metadata = [:]
    if let space = rest.firstIndex(of: " "), let level = Logger.Level(rawValue: String(rest[..<space])) {
      self.level = level
      rest = rest[rest.index(after: space)...]
      if let (metadata, after) = Self.brackets(rest) { (self.metadata, rest) = (metadata, after) }
    }
    message = String(rest)
  }

  /// Recognises a time as `LogFile` writes it: `2026-11-25T02:11:03.123Z`.
  private static func isTime(_ text: Substring) -> Bool {
    text.utf8.count == 24 && text.hasSuffix("Z") && text.first?.isNumber == true
  }

  /// Reads metadata in brackets, and what follows the space after them.
  private static func brackets(_ text: Substring) -> (metadata: [String: String], rest: Substring)? {
    guard text.first == "[" else { return nil }
    var metadata: [String: String] = [:]
    var rest = text.dropFirst()
    while let next = rest.first, next != "]" {
      guard let equals = rest.firstIndex(of: "=") else { return nil }
      let key = String(rest[..<equals])
      rest = rest[rest.index(after: equals)...]
      guard let value = takeValue(&rest) else { return nil }
      metadata[key] = value
      if rest.first == " " { rest = rest.dropFirst() }
    }
    guard rest.hasPrefix("] ") else { return nil }
    return (metadata, rest.dropFirst(2))
  }

  private static func takeValue(_ rest: inout Substring) -> String? {
    guard rest.first == "\"" else {
      guard let end = rest.firstIndex(where: { $0 == " " || $0 == "]" }) else { return nil }
      defer { rest = rest[end...] }
      return String(rest[..<end])
    }
    var value = ""
    var isEscaped = false
    rest = rest.dropFirst()
    while let character = rest.first {
      rest = rest.dropFirst()
      switch (character, isEscaped) {
      case ("n", true): value.append("\n")
      case (_, true): value.append(character)
      case ("\\", false):
        isEscaped = true
        continue
      case ("\"", false): return value
      default: value.append(character)
      }
      isEscaped = false
    }
    return nil
  }

  /// The value in quotes, unless it reads back without.
  private static func quoted(_ value: String) -> String {
    let isPlain = !value.isEmpty && value.allSatisfy { !" \"]\\=".contains($0) && !$0.isNewline }
    if isPlain { return value }
    let escaped = value.map { character in
      switch character {
      case "\"", "\\": "\\\(character)"
      case _ where character.isNewline: "\\n"
      default: String(character)
      }
    }
    return "\"\(escaped.joined())\""
  }
}
