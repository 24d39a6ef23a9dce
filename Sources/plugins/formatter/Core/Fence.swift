/// The fence of a code block.
struct Fence: Equatable {
  let character: Character
  let length: Int
  /// The opening line without its newline; repeated where the block continues in another message.
  let opener: String

  /// The text of the line that closes the fence.
  var closer: String { String(repeating: String(character), count: length) }

  static let maximumOpener = 60
  /// Longer runs of marks are no fence here: repeating them would fill every message.
  static let maximumRun = 12

  /// The fence that a line opens: at least three backticks or tildes, indented by at most three spaces, and no backtick
  /// in what follows backticks (CommonMark 0.31 §4.5).
  init?(opening line: some StringProtocol) {
    guard let (character, length, info) = Self.run(line) else { return nil }
    if character == "`", info.contains("`") { return nil }
    self.character = character
    self.length = length
    opener = String(line.prefix(Self.maximumOpener)).trimmingNewline()
  }

  /// A fence that nothing inside can close.
  init(around lines: [String]) {
    let longest = lines.flatMap { $0.split { $0 != "`" } }.map(\.count).max() ?? 0
    character = "`"
    length = min(max(3, longest + 1), Self.maximumRun)
    opener = String(repeating: "`", count: length)
  }

  /// Reports whether a line closes this fence: the same character, at least as many, nothing else.
  func isClosed(by line: some StringProtocol) -> Bool {
    guard let (character, length, info) = Self.run(line) else { return false }
    return character == self.character && length >= self.length && info.allSatisfy(\.isWhitespace)
  }

  private static func run<Line: StringProtocol>(_ line: Line) -> (Character, Int, Line.SubSequence)? {
    let indent = line.prefix { $0 == " " }
    guard indent.count <= 3 else { return nil }
    let rest = line.dropFirst(indent.count)
    guard let first = rest.first, first == "`" || first == "~" else { return nil }
    let marks = rest.prefix { $0 == first }
    guard (3...maximumRun).contains(marks.count) else { return nil }
    return (first, marks.count, rest.dropFirst(marks.count))
  }
}

extension String {
  func trimmingNewline() -> String {
    guard let last, last.isNewline else { return self }
    return String(dropLast())
  }
}
