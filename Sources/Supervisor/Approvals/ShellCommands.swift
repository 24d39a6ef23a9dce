/// The words of one command, without the quotes.
struct SimpleCommand: Equatable {
  var words: [String]

  /// The name of the program that a word calls, if it calls one: without its folder, and without the variable that the word
  /// is assigned to.
  static func program(_ word: String) -> String {
    let value = word.split(separator: "=", omittingEmptySubsequences: false).last ?? ""
    let name = value.split(separator: "/").last ?? ""
    return name.drop { "$!@{".contains($0) }.lowercased()
  }

  /// The words as people write them: programs without folders, and no options, assignments or options of git before its
  /// command.
  var plainWords: [String] {
    var plain: [String] = []
    var rest = words[...].drop(while: Self.isAssignment)
    while let word = rest.popFirst() {
      let program = Self.program(word)
      if program == "git" {
        plain.append(program)
        rest = rest.dropFirst(GitArguments(rest).optionCount)
      } else if Self.isAssignment(word), plain.last == "env" || plain.last == "sudo" {
        continue
      } else if !word.hasPrefix("-") {
        plain.append(word.hasPrefix("/") ? program : word)
      }
    }
    return plain
  }

  private static func isAssignment(_ word: String) -> Bool {
    guard let equals = word.firstIndex(of: "="), equals > word.startIndex else { return false }
    return word[..<equals].allSatisfy { $0 == "_" || $0.isLetter || $0.isNumber }
  }
}

/// The commands of a command line. A word in quotes is read like a command line itself, because many programs run such
/// words, and so is a substitution.
///
/// This is no shell: variables keep their names, and a program that runs others can hide a command from it.
struct ShellCommands {
  private(set) var all: [SimpleCommand] = []

  /// Quotes within quotes beyond this depth separate words.
  private static let maximumDepth = 4
  /// Programs that join their words to one command line.
  private static let joining: Set<String> = ["eval", "ssh", "watch", "su"]

  init(_ text: String) { read(text, depth: 0) }

  private mutating func read(_ text: String, depth: Int) {
    var reader = ShellReader(text, readsQuotes: depth < Self.maximumDepth)
    reader.readAll()
    all += reader.commands
    guard depth < Self.maximumDepth else { return }
    for line in reader.substitutions { read(line, depth: depth + 1) }
    for words in reader.commands.map(\.words) {
      let lines = words.filter(ShellReader.isLine)
      for line in lines { read(line, depth: depth + 1) }
      guard !lines.isEmpty, let start = words.firstIndex(where: { Self.joining.contains(SimpleCommand.program($0)) })
      else { continue }
      read(words[(start + 1)...].joined(separator: " "), depth: depth + 1)
    }
  }
}

/// Cuts a command line into commands and words.
private struct ShellReader {
  private let bytes: [UInt8]
  private let readsQuotes: Bool
  private var position = 0
  private(set) var commands: [SimpleCommand] = []
  /// The insides of `$(…)` and backquotes. In its word a substitution is only a `$`.
  private(set) var substitutions: [String] = []
  private var words: [String] = []
  private var word: [UInt8] = []
  private var isInWord = false
  /// The next word is the file or the text of a redirection.
  private var isRedirected = false

  private static let blanks: Set<UInt8> = Set(" \t\r".utf8)
  private static let ends: Set<UInt8> = Set("\n;&|()`".utf8)
  private static let quotes: Set<UInt8> = Set("'\"".utf8)
  private static let escapedInQuotes: Set<UInt8> = Set("$`\"\\".utf8)
  private static let backslash = UInt8(ascii: "\\")
  private static let backquote = UInt8(ascii: "`")
  private static let doubleQuote = UInt8(ascii: "\"")
  private static let newline = UInt8(ascii: "\n")
  private static let dollar = UInt8(ascii: "$")

  init(_ text: String, readsQuotes: Bool) {
    bytes = Array(text.replacing("${IFS}", with: " ").replacing("$IFS", with: " ").utf8)
    self.readsQuotes = readsQuotes
  }

  /// True for a word that may be a command line.
  static func isLine(_ word: String) -> Bool {
    word.utf8.contains { blanks.contains($0) || ends.contains($0) || quotes.contains($0) }
  }

  mutating func readAll() {
    while let byte = next() {
      if readsQuotes { read(byte) } else { readPlainly(byte) }
    }
    endCommand()
  }

  private mutating func next() -> UInt8? {
    guard position < bytes.count else { return nil }
    defer { position += 1 }
    return bytes[position]
  }

  private func isNext(_ sign: Character) -> Bool { position < bytes.count && bytes[position] == sign.asciiValue }

  private mutating func readPlainly(_ byte: UInt8) {
    if Self.ends.contains(byte) { return endCommand() }
    if Self.blanks.contains(byte) || Self.quotes.contains(byte) || byte == Self.backslash { return endWord() }
    append(byte)
  }

  private mutating func read(_ byte: UInt8) {
    switch byte {
    case Self.backslash:
      // Before the end of a line: the line goes on.
      if let escaped = next(), escaped != Self.newline { append(escaped) }
    case Self.dollar where isNext("("), Self.backquote: readSubstitution(after: byte)
    case _ where Self.quotes.contains(byte): readQuoted(until: byte)
    case UInt8(ascii: "<"), UInt8(ascii: ">"): beginRedirection()
    case UInt8(ascii: "&") where isNext(">"): endWord()
    case _ where Self.blanks.contains(byte): endWord()
    case _ where Self.ends.contains(byte): endCommand()
    default: append(byte)
    }
  }

  private mutating func append(_ byte: UInt8) {
    word.append(byte)
    isInWord = true
  }

  private mutating func readQuoted(until quote: UInt8) {
    isInWord = true
    while let byte = next(), byte != quote {
      switch byte {
      case Self.backslash where quote == Self.doubleQuote:
        guard let escaped = next(), escaped != Self.newline else { continue }
        if !Self.escapedInQuotes.contains(escaped) { word.append(byte) }
        word.append(escaped)
      case Self.dollar where quote == Self.doubleQuote && isNext("("), Self.backquote where quote == Self.doubleQuote:
        readSubstitution(after: byte)
      default: word.append(byte)
      }
    }
  }

  /// Takes everything up to the parenthesis or the backquote that ends it; quotes are not looked at.
  private mutating func readSubstitution(after byte: UInt8) {
    append(Self.dollar)
    let start = byte == Self.backquote ? position : position + 1
    var depth = byte == Self.backquote ? 1 : 0
    while let next = next() {
      switch next {
      case Self.backquote where byte == Self.backquote: depth -= 1
      case UInt8(ascii: "(") where byte == Self.dollar: depth += 1
      case UInt8(ascii: ")") where byte == Self.dollar: depth -= 1
      default: continue
      }
      if depth <= 0 { break }
    }
    let end = depth > 0 ? position : position - 1
    substitutions.append(String(decoding: bytes[min(start, end)..<end], as: UTF8.self))
  }

  /// `2>&1`, `>| file`, `<<< text`: the command goes on after it.
  private mutating func beginRedirection() {
    if word.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
      word = []
      isInWord = false
    }
    endWord()
    while position < bytes.count, "<>&|".utf8.contains(bytes[position]) { position += 1 }
    isRedirected = true
  }

  private mutating func endWord() {
    guard isInWord else { return }
    let text = String(decoding: word, as: UTF8.self)
    // A text that a program is given to read may be commands.
    if isRedirected { commands.append(SimpleCommand(words: [text])) } else { words.append(text) }
    word = []
    isInWord = false
    isRedirected = false
  }

  private mutating func endCommand() {
    endWord()
    isRedirected = false
    if !words.isEmpty { commands.append(SimpleCommand(words: words)) }
    words = []
  }
}
