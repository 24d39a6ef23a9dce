import RelayWire
import TestSupport

/// The messages that a person has seen at the end of a day, compared with those that were written.
package struct Ledger: Sendable {
  package private(set) var sent = 0
  package private(set) var answered = 0
  package private(set) var interrupted = 0
  package private(set) var lost: [String] = []
  package private(set) var duplicated: [String] = []
  package private(set) var marked = 0
  /// Left half done where the platform cannot say what it has.
  package private(set) var unreachable = 0
  package private(set) var problems: [String] = []

  package var isSound: Bool { lost.isEmpty && duplicated.isEmpty && problems.isEmpty }

  package var account: String { (lost + duplicated + problems).joined(separator: "\n") }

  /// One kill loses one receipt of each conversation at most.
  static let maximumUnreachable = 4
  private static let mark = "(possible repeat) "

  /// - Parameters:
  ///   - given: what the agents were given, by their own account.
  ///   - mayLeave: messages that may be left half done where the platform cannot say what it has.
  init(
    _ days: [Day], _ messenger: FakeMessenger, given: [String], mayRepeat: Bool, isInOrder: Bool = true,
    mayLeave: Int = Ledger.maximumUnreachable
  ) async {
    let messages = await messenger.messages
    let outcomes = await messenger.outcomes
    problems = await messenger.contradictions.map { "two ends: \($0)" }
    for day in days {
      let shown = messages.filter { $0.conversation == day.conversation }
      for line in day.lines {
        judge(line, shown, outcomes[line.tag])
        judgeRuns(line, shown, given)
      }
      judgeNotices(day, shown, outcomes)
      if isInOrder { judgeOrder(day, shown) }
      judgePictures(day, shown, outcomes)
    }
    for message in messages {
      let name = "\(message.conversation) \(message.id) \"\(message.text.prefix(60))\""
      // A report whose message may be run again keeps its button.
      let asks = message.buttons != nil && !message.text.hasPrefix("❌")
      let isHalf = message.isGrowing || asks || message.text.hasPrefix("❓")
      // A message whose receipt was lost on a platform without a look-up cannot be changed any more.
      if isHalf || message.text.contains("⏳ Running") {
        if mayRepeat { unreachable += 1 } else { problems.append("left half done: \(name)") }
      }
      if message.text.hasPrefix(Self.mark) { marked += 1 }
    }
    if unreachable > mayLeave { problems.append("\(unreachable) messages were left half done") }
    if !mayRepeat, marked > 0 { problems.append("\(marked) marked as possible repeats, where keys tell") }
  }

  private mutating func judge(_ line: Day.Line, _ shown: [FakeMessenger.Shown], _ outcome: MessageSettled.Outcome?) {
    sent += 1
    let answers = shown.filter { $0.role == .answer && $0.text.contains(line.tag) }
    let plain = answers.filter { !$0.text.hasPrefix(Self.mark) }
    if plain.count > 1 { duplicated.append("\(line.tag) was answered \(plain.count) times") }
    switch outcome {
    case .answered:
      answered += 1
      // The answer to a question does not repeat it; its message does.
      let isShown = line.kind == .question ? shown.contains { $0.text.contains(line.tag) } : !answers.isEmpty
      if !isShown { lost.append("\(line.tag) counts as answered, and nothing is shown") }
      if line.kind == .file,
        !answers.contains(where: { $0.text.contains("contents of") || $0.text.contains("ncluded") })
      {
        lost.append("the file of \(line.tag)")
      }
    case .failed, .stopped:
      interrupted += 1
      if !shown.contains(where: { $0.role == .notice }) { problems.append("\(line.tag) failed without a word") }
    case .handled:
      // Written while a question waited, it was taken for an answer, and the person told what would be one.
      interrupted += 1
      if !shown.contains(where: { $0.role == .notice && $0.text.contains("or /cancel") }) {
        problems.append("\(line.tag) counts as a command")
      }
    case nil: lost.append("\(line.tag) has not ended")
    }
  }

  /// A message reaches the agent once; again only by the person's word.
  private mutating func judgeRuns(_ line: Day.Line, _ shown: [FakeMessenger.Shown], _ given: [String]) {
    let runs = given.count { $0.contains(line.tag) }
    let words = shown.count { message in
      message.history.contains { $0.contains("It is not known whether") && $0.contains(line.tag) }
    }
    if runs > 1 + words { duplicated.append("\(line.tag) reached the agent \(runs) times") }
  }

  /// Each end that is no answer was told.
  private mutating func judgeNotices(
    _ day: Day, _ shown: [FakeMessenger.Shown], _ outcomes: [String: MessageSettled.Outcome]
  ) {
    let failures = day.lines.count { outcomes[$0.tag] == .failed || outcomes[$0.tag] == .stopped }
    let notices = shown.count { message in
      let text = message.text.hasPrefix(Self.mark) ? String(message.text.dropFirst(Self.mark.count)) : message.text
      return message.role == .notice && ["❌", "⏹", "⚠️", "🗑️"].contains { text.hasPrefix($0) }
    }
    if notices < failures {
      problems.append("\(failures) messages of \(day.conversation) failed, and \(notices) notices say so")
    }
  }

  private mutating func judgeOrder(_ day: Day, _ shown: [FakeMessenger.Shown]) {
    let order = shown.filter { $0.role == .answer }.compactMap { message in
      day.lines.first { message.text.contains($0.tag) }?.number
    }
    if order != order.sorted() { problems.append("\(day.conversation) was answered in the order \(order)") }
  }

  private mutating func judgePictures(
    _ day: Day, _ shown: [FakeMessenger.Shown], _ outcomes: [String: MessageSettled.Outcome]
  ) {
    let wanted = day.lines.filter { $0.kind == .image }
    let pictures = shown.count { $0.text.hasPrefix("[screenshot") }
    if pictures > wanted.count { duplicated.append("\(pictures) pictures of \(wanted.count) in \(day.conversation)") }
    let answered = wanted.count { outcomes[$0.tag] == .answered }
    // Of one that is marked as a possible repeat, the first may never have arrived.
    let marked = shown.count { $0.text.hasPrefix(Self.mark + "[screenshot") }
    if pictures + marked < answered { lost.append("\(answered - pictures) pictures in \(day.conversation)") }
  }
}

extension Ledger {
  mutating func note(_ problem: String) { problems.append(problem) }
}
