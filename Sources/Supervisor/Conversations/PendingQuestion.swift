package import PiRPC
internal import RelayText
internal import RelayWire
package import SessionStates

/// A question of the agent that waits for a person's answer.
package struct PendingQuestion: Codable, Sendable, Equatable {
  /// Opaque and short, because it is part of button ids.
  package let id: String
  package let session: String
  package let dialog: PiDialog
  /// Asked by the supervisor, not by an agent.
  package let isFromSupervisor: Bool
  /// Seconds since 1970.
  package let expires: Double?
  /// The tool call in question, where one waits: only its requester is asked, and answers.
  package let approval: ApprovalQuestion?

  init(
    id: String, session: String, dialog: PiDialog, isFromSupervisor: Bool, expires: Double?,
    approval: ApprovalQuestion? = nil
  ) {
    self.id = id
    self.session = session
    self.dialog = dialog
    self.isFromSupervisor = isFromSupervisor
    self.expires = expires
    self.approval = approval
  }

  var kind: DialogShow.Kind {
    switch dialog.kind {
    case .confirm: .confirm
    case .select: .select
    case .input: .input
    case .editor: .editor
    }
  }

  /// The question with what to reply: enough without any button. Its title is bold where the dialect has that.
  func question(in dialect: String, through redaction: Redactor) -> String {
    var titles = redaction.apply(to: dialog.title).trimmingWhitespace()
      .split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    if dialect != "plain", let first = titles.first, !first.isEmpty { titles[0] = Self.bold(first) }
    let rest = approval.map { approvalText($0, isPlain: dialect == "plain") } ?? reply
    return "❓ " + titles.joined(separator: "\n") + redaction.apply(to: "\n" + rest)
  }

  /// The call in a block of its own, so that no sign of it is read as layout; then the words that answer, as a number might
  /// be meant for another question.
  private func approvalText(_ approval: ApprovalQuestion, isPlain: Bool) -> String {
    let summary = approval.summary.replacing("```", with: "'''")
    let lines = [isPlain ? summary : "```\n\(summary)\n```", dialog.message ?? "", "To answer in words:"]
    return (lines + approval.replies.map { isPlain ? $0 : "`\($0)`" }).joined(separator: "\n")
  }

  /// Marks a line of Markdown as bold, with all signs in it as they are.
  private static func bold(_ line: String) -> String {
    let characters = Array(line)
    func isWord(_ index: Int) -> Bool {
      characters.indices.contains(index) && (characters[index].isLetter || characters[index].isNumber)
    }
    let escaped = characters.indices.map { index -> String in
      let sign = characters[index]
      // Between letters it means nothing, and addresses are full of it.
      let isPlain = sign == "_" && isWord(index - 1) && isWord(index + 1)
      return "\\*_~`|".contains(sign) && !isPlain ? "\\\(sign)" : String(sign)
    }
    return "**\(escaped.joined())**"
  }

  /// The rest of the question, and how to answer.
  private var reply: String {
    var lines: [String] = []
    if let message = dialog.message, !message.isEmpty { lines.append(message) }
    switch dialog.kind {
    case .confirm: lines.append("Reply yes or no.")
    case .select:
      lines += dialog.options.enumerated().map { "\($0.offset + 1). \($0.element)" }
      lines.append("Reply with a number\(isFromSupervisor ? "" : ", or with an answer of your own").")
    case .input:
      if let placeholder = dialog.placeholder, !placeholder.isEmpty { lines.append("(\(placeholder))") }
      lines.append("Reply with your text, or /cancel.")
    case .editor:
      if let prefill = dialog.prefill, !prefill.isEmpty { lines.append("```\n\(prefill)\n```") }
      lines.append("Reply with your text, or /cancel.")
    }
    return lines.joined(separator: "\n")
  }

  /// Buttons for the answers there are, where they fit; otherwise the numbers do.
  ///
  /// - Parameter redaction: goes over labels before they are cut, as half a secret is not found.
  func buttons(within limits: ButtonLimits?, through redaction: Redactor) -> [[Button]]? {
    guard let limits else { return nil }
    let labels: [String]
    switch dialog.kind {
    case .confirm: labels = ["Yes", "No"]
    case .select: labels = dialog.options
    case .input, .editor: labels = []
    }
    guard !labels.isEmpty, labels.count <= limits.rows * limits.perRow else { return nil }
    let all = labels.enumerated().map { index, label in
      Button(
        id: "\(id):\(index + 1)",
        label: redaction.line(label, limit: limits.labelLength),
        style: dialog.kind == .confirm ? (index == 0 ? .success : .danger) : .primary)
    }
    return stride(from: 0, to: all.count, by: limits.perRow).map { Array(all[$0..<min($0 + limits.perRow, all.count)]) }
  }

  package enum Outcome: Sendable {
    case answered(String, by: String)
    case unanswered(why: String)
  }

  /// The text that takes the place of the question once it is over.
  func closing(_ outcome: Outcome, through redaction: Redactor) -> String {
    func line(_ text: String) -> String {
      let whole = redaction.line(text, limit: .max)
      return whole.count > 120 ? whole.prefix(119) + "…" : whole
    }
    let title = line(dialog.title) + (approval.map { ": " + line($0.summary) } ?? "")
    return switch outcome {
    case .answered(let answer, let name): "✔ \(title) — \(line(answer)) (\(redaction.line(name)))"
    case .unanswered(let why): "✖ \(title) — \(why)"
    }
  }

  package enum Reading: Equatable {
    case answer(PiDialogAnswer, label: String)
    /// It is no answer; `hint` says what would be.
    case unclear(hint: String)
  }

  /// True for typed words that answer this question. While the supervisor itself asks, other words are an ordinary
  /// message.
  func takes(_ words: String) -> Bool {
    guard isFromSupervisor else { return true }
    if case .answer = read(words) { return true }
    return false
  }

  /// Reads a typed reply: a number, a label, yes or no, or the text itself. pi takes any text for a choice; a question of
  /// our own takes its options only.
  package func read(_ reply: String) -> Reading {
    let text = reply.trimmingWhitespace()
    if text.lowercased() == "/cancel" { return .answer(.cancelled, label: "cancelled") }
    switch dialog.kind {
    case .confirm:
      switch text.lowercased().trimmingPunctuation() {
      case "yes", "y", "1", "true", "ok", "okay": return .answer(.confirmed(true), label: "yes")
      case "no", "n", "2", "0", "false": return .answer(.confirmed(false), label: "no")
      default: return .unclear(hint: "That is a yes-or-no question. Reply yes or no, or /cancel.")
      }
    case .select:
      let wish = text.lowercased()
      let options = dialog.options
      if let label = options.first(where: { $0.lowercased() == wish }) { return .answer(.value(label), label: label) }
      if let number = Int(wish.trimmingPunctuation()), number > 0, number <= options.count {
        return .answer(.value(options[number - 1]), label: options[number - 1])
      }
      // A number that is none of the choices is a slip.
      if !isFromSupervisor, !text.isEmpty, Int(wish.trimmingPunctuation()) == nil {
        return .answer(.value(text), label: text)
      }
      let others = isFromSupervisor ? "" : ", with an answer of your own"
      return .unclear(hint: "Reply with a number from 1 to \(options.count)\(others), or /cancel.")
    case .input, .editor: return .answer(.value(reply), label: reply)
    }
  }

  /// Reads a pressed button.
  func read(button number: Int) -> Reading {
    switch dialog.kind {
    case .confirm: .answer(.confirmed(number == 1), label: number == 1 ? "yes" : "no")
    case .select where number > 0 && number <= dialog.options.count:
      .answer(.value(dialog.options[number - 1]), label: dialog.options[number - 1])
    default: .unclear(hint: "That button is no longer valid.")
    }
  }
}

extension PendingQuestion {
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    id = try values.decode(String.self, forKey: .id)
    session = try values.decode(String.self, forKey: .session)
    dialog = try values.decode(PiDialog.self, forKey: .dialog)
    // Earlier versions recognised the supervisor's questions by their ids.
    isFromSupervisor =
      try values.decodeIfPresent(Bool.self, forKey: .isFromSupervisor) ?? dialog.id.hasPrefix("relay-question-")
    expires = try values.decodeIfPresent(Double.self, forKey: .expires)
    approval = try values.decodeIfPresent(ApprovalQuestion.self, forKey: .approval)
  }
}

extension String {
  func trimmingPunctuation() -> String {
    var text = self[...]
    while let last = text.last, last.isPunctuation { text = text.dropLast() }
    return String(text)
  }
}
