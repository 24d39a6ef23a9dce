internal import MessengerKit
internal import PluginSDK

/// Texts of people as Slack writes them: `<@U1>`, `<#C1|general>`, `<!here>`, `<https://…|label>`, and `&amp; &lt; &gt;`.
///
/// https://docs.slack.dev/messaging/formatting-message-text
enum SlackText {
  enum Piece: Equatable, Sendable {
    case text(String)
    case user(String, label: String?)
    case channel(String, label: String?)
    case other(String)
  }

  static func pieces(_ text: String) -> [Piece] {
    var pieces: [Piece] = []
    var rest = Substring(text)
    while let start = rest.firstIndex(of: "<") {
      guard let end = rest[start...].firstIndex(of: ">") else { break }
      if start > rest.startIndex { pieces.append(.text(unescaped(rest[..<start]))) }
      pieces.append(piece(rest[rest.index(after: start)..<end]))
      rest = rest[rest.index(after: end)...]
    }
    if !rest.isEmpty { pieces.append(.text(unescaped(rest))) }
    return pieces
  }

  private static func piece(_ inner: Substring) -> Piece {
    let parts = inner.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
    let target = String(parts[0].dropFirst())
    let label = parts.count > 1 && !parts[1].isEmpty ? unescaped(parts[1]) : nil
    switch inner.first {
    case "@": return .user(target, label: label)
    case "#": return .channel(target, label: label)
    case "!":
      // `!date^…|text` and `!subteam^S1|@crew` have a label; `!here` has none.
      return .other(label ?? "@" + target.prefix { $0 != "^" })
    default:
      let address = unescaped(parts[0])
      let bare = address.hasPrefix("mailto:") ? String(address.dropFirst(7)) : address
      guard let label, label != bare, label != address, !address.hasSuffix("//" + label) else { return .other(bare) }
      return .other("\(label) (\(bare))")
    }
  }

  static func unescaped(_ text: some StringProtocol) -> String {
    String(text).replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&amp;", with: "&")
  }

  static func escaped(_ text: some StringProtocol) -> String {
    String(text).replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }

  /// The text as people read it, without the bot's own name at its beginning or end.
  static func readable(_ text: String, me: String?, _ people: SlackPeople) async -> String {
    var words = ""
    for piece in pieces(text) {
      switch piece {
      case .text(let text), .other(let text): words += text
      case .user(let id, _) where id == me: break
      case .user(let id, let label):
        if let label { words += "@" + label } else { words += "@" + (await people.person(id).name) }
      case .channel(let id, let label):
        if let label { words += "#" + label } else { words += "#" + (await people.channel(id)) }
      }
    }
    return words.trimmingWhitespace()
  }

  static func mentions(_ user: String?, in text: String) -> Bool {
    guard let user else { return false }
    return text.contains("<@\(user)>") || text.contains("<@\(user)|")
  }
}

/// An agent's Markdown for Slack.
enum SlackMarkdown {
  private static let sectionLength = 3_000

  /// The block that takes Markdown as models write it.
  ///
  /// https://docs.slack.dev/reference/block-kit/blocks/markdown-block
  static func block(_ text: String) -> JSONValue { ["type": "markdown", "text": .string(harmless(text))] }

  /// The text in Slack's own markup, in blocks that each hold 3,000 characters.
  static func sections(_ text: String) -> [JSONValue] {
    var sections: [JSONValue] = []
    var rest = Substring(mrkdwn(text))
    while !rest.isEmpty {
      var piece = Substring(String(rest).cut(sectionLength))
      if piece.count < rest.count, let line = piece.lastIndex(of: "\n"), line > piece.startIndex {
        piece = piece[..<line]
      }
      sections.append(["type": "section", "text": ["type": "mrkdwn", "text": .string(String(piece))]])
      rest = rest.dropFirst(piece.count)
      if rest.first == "\n" { rest = rest.dropFirst() }
    }
    return sections
  }

  /// An agent's words ping nobody: a word joiner takes `<!here>` and `<@U1>` apart.
  static func harmless(_ text: String) -> String {
    text.replacing("<!", with: "<\u{2060}!").replacing("<@", with: "<\u{2060}@")
  }

  /// The text in Slack's own markup. Code and tables stay as they are.
  static func mrkdwn(_ text: String) -> String {
    var isCode = false
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      if line.drop(while: { $0 == " " }).hasPrefix("```") {
        isCode.toggle()
        return "```"
      }
      return isCode ? SlackText.escaped(line) : marked(line)
    }.joined(separator: "\n")
  }

  private static func marked(_ line: Substring) -> String {
    if let heading = line.wholeMatch(of: /\#{1,6}\s+(.+)/) { return "*\(SlackText.escaped(heading.1))*" }
    var line = line
    var beginning = ""
    if let item = line.firstMatch(of: /^(\s*)[-*+]\s+/) {
      beginning = item.1 + "• "
      line = line[item.range.upperBound...]
    }
    // Code keeps its signs: every second part between backticks is code.
    let parts = line.split(separator: "`", omittingEmptySubsequences: false)
    return beginning
      + parts.enumerated().map { index, part in
        let text = SlackText.escaped(part)
        guard index % 2 == 0 || index == parts.count - 1 && parts.count % 2 == 0 else { return text }
        return text.replacing(/\[([^\]\[]+)\]\((https?:[^)\s]+)\)/) { "<\($0.2)|\($0.1)>" }
          .replacing(/(^|[^*\w])\*([^*\s][^*]*)\*(?![*\w])/) { "\($0.1)_\($0.2)_" }
          .replacing(/\*\*([^*]+)\*\*/) { "*\($0.1)*" }
          .replacing(/~~([^~]+)~~/) { "~\($0.1)~" }
      }.joined(separator: "`")
  }
}
