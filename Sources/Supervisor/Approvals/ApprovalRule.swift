internal import RelayText

/// A text that a rule looks for, in any case: a part of a text, or an expression between slashes.
package struct TextPattern: Sendable, Equatable {
  package let text: String
  private let pattern: Pattern

  /// The result is `nil` for an empty text, and for slashes with something between them that is no regular expression.
  package init?(_ text: String) {
    guard !text.isEmpty else { return nil }
    let expression = Self.expression(in: text)
    guard let pattern = Pattern(anyCase: expression ?? text, isLiteral: expression == nil) else { return nil }
    self.text = text
    self.pattern = pattern
  }

  private static func expression(in text: String) -> String? {
    let body = text.hasSuffix("/i") ? text.dropLast() : text[...]
    return body.count > 2 && body.hasPrefix("/") && body.hasSuffix("/") ? String(body.dropFirst().dropLast()) : nil
  }

  /// An expression that takes too many steps counts as found: then a person decides.
  func isFound(in text: String) -> Bool { pattern.isFound(in: text) ?? true }

  package static func == (left: TextPattern, right: TextPattern) -> Bool { left.text == right.text }
}

/// Tells which tool calls wait for a person: those of one of its tools, in one of its categories, with one of its patterns.
/// An empty list sets no condition.
package struct ApprovalRule: Sendable, Equatable {
  package var id: String
  package var tools: [String] = []
  package var categories: [ToolCategory] = []
  package var commandPatterns: [TextPattern] = []
  package var pathPatterns: [TextPattern] = []
  package var textPatterns: [TextPattern] = []
  /// Shown with the question.
  package var description: String?

  package init(id: String) { self.id = id }

  /// The first rule that matches.
  package static func first(of rules: [ApprovalRule], matching call: ToolCall) -> ApprovalRule? {
    rules.first { $0.matches(call) }
  }

  package var isUnconstrained: Bool { tools.isEmpty && categories.isEmpty && hasNoPatterns }

  private var hasNoPatterns: Bool { commandPatterns.isEmpty && pathPatterns.isEmpty && textPatterns.isEmpty }

  /// False for a rule whose conditions exclude each other, and for one without conditions.
  package var canMatch: Bool {
    let kinds = tools.isEmpty ? ToolCall.Kind.allCases : tools.map { ToolCall.kind(ofTool: $0.lowercased()) }
    return !isUnconstrained
      && kinds.contains { kind in
        let possible = ToolCategory.categories(of: kind)
        let hasPatterns =
          switch kind {
          case .shell: !commandPatterns.isEmpty || !textPatterns.isEmpty
          case .fileWrite: !pathPatterns.isEmpty || !textPatterns.isEmpty
          case .other: !hasNoPatterns
          }
        return (categories.isEmpty || categories.contains(where: possible.contains)) && (hasNoPatterns || hasPatterns)
      }
  }

  /// A call whose input is cut matches where the rest of the input could.
  package func matches(_ call: ToolCall) -> Bool {
    guard !isUnconstrained else { return false }
    guard tools.isEmpty || tools.contains(where: { $0.lowercased() == call.tool }) else { return false }
    let possible = call.isTruncated ? ToolCategory.categories(of: call.kind) : call.categories
    guard categories.isEmpty || possible.contains(where: categories.contains) else { return false }
    return hasNoPatterns || call.isTruncated || Self.isFound(commandPatterns, in: call.commandSpellings)
      || Self.isFound(pathPatterns, in: call.paths) || Self.isFound(textPatterns, in: call.texts)
  }

  private static func isFound(_ patterns: [TextPattern], in texts: @autoclosure () -> [String]) -> Bool {
    guard !patterns.isEmpty else { return false }
    let texts = texts()
    return patterns.contains { pattern in texts.contains(where: pattern.isFound) }
  }
}

extension ToolCall {
  /// The command as it is written, and its commands with single blanks and without quotes; then also without options and
  /// folders of programs, so that `git push` is found in `/usr/bin/git -C dir push`.
  var commandSpellings: [String] {
    guard let command else { return [] }
    return [
      command, commands.map { $0.words.joined(separator: " ") }.joined(separator: "\n"),
      commands.map { $0.plainWords.joined(separator: " ") }.joined(separator: "\n"),
    ]
  }
}
