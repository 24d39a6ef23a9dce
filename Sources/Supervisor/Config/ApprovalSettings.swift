package import Approvals

/// The settings of approvals: which tool calls of messages from a chat wait for the person, and for how long.
extension Config {
  package struct Approvals: Sendable, Equatable {
    package var isEnabled = false
    /// The first that matches a call decides that it waits.
    package var rules: [ApprovalRule] = []
    /// How long a call waits. Then it is denied.
    package var timeout: Duration = .seconds(120)
    /// A call may be approved for its whole session, and for how long.
    package var sessionGrants = true
    package var sessionGrantTime: Duration = .seconds(3_600)
    /// A call may be approved for all sessions, also of later daemons, and for how long.
    package var persistentGrants = false
    package var persistentGrantTime: Duration = .seconds(604_800)
    /// The number of events that are kept for `pi-relayd approvals`.
    package var auditEvents = 200

    static let timeouts = 5...1_800
    static let sessionGrantTimes = 1...86_400
    static let persistentGrantTimes = 1...2_592_000
    static let auditSizes = 1...1_000

    package init() {}

    init(_ group: SettingsReader, _ context: SettingsReader.Context) {
      if let value = group.flag("enabled") { isEnabled = value }
      if let value = group.integer("timeoutSeconds", in: Self.timeouts) { timeout = .seconds(value) }
      if let value = group.flag("sessionGrants") { sessionGrants = value }
      if let value = group.integer("sessionGrantSeconds", in: Self.sessionGrantTimes) {
        sessionGrantTime = .seconds(value)
      }
      if let value = group.flag("persistentGrants") { persistentGrants = value }
      if let value = group.integer("persistentGrantSeconds", in: Self.persistentGrantTimes) {
        persistentGrantTime = .seconds(value)
      }
      if let value = group.integer("auditEvents", in: Self.auditSizes) { auditEvents = value }
      for item in group.items("rules") {
        if let rule = ApprovalRuleReader(item, context).rule(besides: rules) { rules.append(rule) }
      }
      if isEnabled, rules.isEmpty, let mark = group.node("enabled")?.mark {
        context.warnings.append(
          "\(context.file):\(mark): approvals.enabled: there are no rules, so no tool call waits; add some under "
            + "approvals.rules")
      }
      group.refuseRest("approvals")
    }
  }
}

/// Reads one rule, and complains about each part that cannot be used: a rule with such a part could let calls pass.
private struct ApprovalRuleReader {
  private static let place = "approvals.rules"
  private static let maximumIDLength = 64

  private let group: SettingsReader
  private let mark: Mark
  /// Problems of the file before this rule.
  private let earlierProblems: Int
  private let context: SettingsReader.Context

  init(_ node: YAMLNode, _ context: SettingsReader.Context) {
    earlierProblems = context.problems.count
    group = SettingsReader(node, context, at: Self.place)
    mark = node.mark
    self.context = context
  }

  func rule(besides others: [ApprovalRule]) -> ApprovalRule? {
    var rule = ApprovalRule(id: id(besides: others))
    rule.tools = texts("tools").map(\.text)
    rule.categories = categories()
    rule.commandPatterns = patterns("commandPatterns")
    rule.pathPatterns = patterns("pathPatterns")
    rule.textPatterns = patterns("textPatterns")
    rule.description = group.string("description")
    group.refuseRest(Self.place)
    // Without a part that cannot be used, the rule is not the one that was meant.
    guard context.problems.count == earlierProblems else { return nil }
    if rule.isUnconstrained {
      complain("rule \"\(rule.id)\" has no condition and would never match; add tools, categories or patterns")
    } else if !rule.canMatch {
      complain(
        "rule \"\(rule.id)\" would never match, because its conditions exclude each other: file-write and pathPatterns "
          + "are for write, edit and custom tools, and the other categories and commandPatterns for bash; divide it")
    }
    return rule
  }

  private func complain(_ message: String) { context.complain(mark, message) }

  private func id(besides others: [ApprovalRule]) -> String {
    guard let node = group.node("id") else {
      if context.problems.count == earlierProblems {
        complain("a rule has no id, by which the audit names it; add one, such as id: push")
      }
      return ""
    }
    guard let id = group.string("id") else { return "" }
    let isUsable =
      id.count <= Self.maximumIDLength
      && id.utf8.allSatisfy { byte in
        let sign = Character(Unicode.Scalar(byte))
        return sign.isASCII && (sign.isLetter || sign.isNumber) || sign == "-" || sign == "_"
      }
    if !isUsable || id.isEmpty {
      context.complain(node.mark, "id: expected at most \(Self.maximumIDLength) of a–z, A–Z, 0–9, - and _")
    } else if others.contains(where: { $0.id == id }) {
      context.complain(node.mark, "id: another rule is \"\(id)\", too; give each its own")
    }
    return id
  }

  private func texts(_ key: String) -> [(text: String, mark: Mark)] {
    group.items(key).compactMap { item in
      guard case .scalar(let text, _, let mark) = item else {
        context.complain(item.mark, "\(key): expected a text, found \(item.kind)")
        return nil
      }
      if !text.isEmpty { return (text, mark) }
      context.complain(mark, "\(key): an empty text is no condition; delete it")
      return nil
    }
  }

  private func categories() -> [ToolCategory] {
    texts("categories").compactMap { text, mark in
      if let category = ToolCategory(rawValue: text) { return category }
      let known = ToolCategory.allCases.map(\.rawValue).joined(separator: ", ")
      context.complain(mark, "categories: expected some of \(known)")
      return nil
    }
  }

  private func patterns(_ key: String) -> [TextPattern] {
    texts(key).compactMap { text, mark in
      if let pattern = TextPattern(text) { return pattern }
      context.complain(
        mark,
        "\(key): \"\(text)\" is no regular expression; correct it, or write it without the slashes to look for the text"
      )
      return nil
    }
  }
}
