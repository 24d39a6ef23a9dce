import RelayJSON
import RelayWire
import TestSupport

/// The messages that a person has seen at Discord when all is over, compared with those that were written.
package struct DiscordAccount: Sendable, CustomStringConvertible {
  enum End { case answered, dropped }

  package private(set) var answered = 0
  package private(set) var interrupted = 0
  package private(set) var dropped = 0
  package private(set) var marked = 0
  package private(set) var problems: [String] = []
  private let written: Int
  private let kills: Int
  private let atBoundaries: Int
  private let upgrades: Int
  private let identifies: Int
  private let resumes: Int

  package var isSound: Bool { problems.isEmpty }

  /// - Parameter given: what the agents were given, by their own account.
  init(
    _ written: [DiscordRound.Written], _ ledger: DiscordLedger, given: [String], kills: Int, atBoundaries: Int,
    upgrades: Int
  ) {
    self.written = written.count
    self.kills = kills
    self.atBoundaries = atBoundaries
    self.upgrades = upgrades
    identifies = ledger.identifies
    resumes = ledger.resumes
    if ledger.identifies != 1 { problems.append("\(ledger.identifies) IDENTIFY") }
    if ledger.pings > 0 { problems.append("\(ledger.pings) messages ping people") }
    for place in Set(written.map(\.place)) { judge(written.filter { $0.place == place }, in: place, ledger) }
    for message in written {
      let runs = given.count { $0.contains(message.tag) }
      // We never ask for another.
      if runs > 1 { problems.append("\(message.tag) reached the agent \(runs) times") }
    }
    for shown in ledger.texts where Self.isHalfDone(shown) {
      problems.append("left half done: \(shown.text.prefix(80))")
    }
    if answered * 2 < written.count { problems.append("no more than \(answered) of \(written.count) were answered") }
  }

  package var description: String {
    "\(kills) kills (\(atBoundaries) at boundaries), \(upgrades) upgrades: of \(written) messages \(answered) answered, "
      + "\(interrupted) reported interrupted, \(dropped) dropped, \(problems.count) problems, "
      + "\(marked) marked as possible repeats; \(identifies) IDENTIFY, \(resumes) RESUME"
  }

  /// Each message that was not answered has a notice of its own after it.
  private mutating func judge(_ messages: [DiscordRound.Written], in place: String, _ ledger: DiscordLedger) {
    let order = Order(ledger)
    var notices = ledger.texts.filter { $0.channel == place && Self.isNotice($0) }.compactMap { order.shown[$0.id] }
    for message in messages {
      let answers = ledger.texts.filter { $0.channel == place && Self.isAnswer($0, to: message.tag) }
      let plain = answers.count { !$0.text.hasPrefix(Self.repeated) }
      marked += answers.count - plain
      if plain > 1 { problems.append("\(message.tag) was answered \(plain) times") }
      switch Self.end(of: message, in: ledger) {
      case .answered: answered += 1
      case .dropped: dropped += 1
      case nil:
        let written = order.written(message.tag) ?? .max
        if let index = notices.firstIndex(where: { $0 > written }) {
          notices.removeSubrange(...index)
          interrupted += 1
        } else {
          problems.append("\(message.tag) is lost: neither answered nor reported")
        }
      }
    }
  }

  /// When something happened, as places in the ledger.
  private struct Order {
    /// By message: when it was shown first.
    private(set) var shown: [String: Int] = [:]
    private var said: [(text: String, at: Int)] = []

    init(_ ledger: DiscordLedger) {
      for (index, event) in ledger.events.enumerated() {
        switch event["happened"]?.stringValue {
        case "shown": if let id = event["id"]?.stringValue, shown[id] == nil { shown[id] = index }
        case "said": said.append((event["text"]?.stringValue ?? "", index))
        default: break
        }
      }
    }

    func written(_ tag: String) -> Int? { said.first { $0.text.contains(tag) }?.at }
  }

  // MARK: - What a message is

  private static let marks = ["❌", "⏹", "⚠️", "🗑️"]
  private static let repeated = "(possible repeat) "

  /// The end of a message, as far as the ledger states it; `nil` if nothing says so of this message by itself.
  static func end(of message: DiscordRound.Written, in ledger: DiscordLedger) -> End? {
    let here = ledger.texts.filter { $0.channel == message.place }
    if here.contains(where: { isAnswer($0, to: message.tag) }) { return .answered }
    let isDropped = here.contains {
      $0.text.hasPrefix("✔") && $0.text.contains("— Drop") && $0.text.contains(message.tag)
    }
    return isDropped ? .dropped : nil
  }

  /// All that the agent says ends with the tag: what has it is whole.
  private static func isAnswer(_ shown: DiscordLedger.Shown, to tag: String) -> Bool {
    guard shown.text.contains(tag) else { return false }
    let text = shown.text.hasPrefix(repeated) ? String(shown.text.dropFirst(repeated.count)) : shown.text
    return !(marks + ["⏳", "❓", "✔", "✖", "▶"]).contains { text.hasPrefix($0) }
  }

  static func isNotice(_ shown: DiscordLedger.Shown) -> Bool { marks.contains { shown.text.hasPrefix($0) } }

  private static func isHalfDone(_ shown: DiscordLedger.Shown) -> Bool {
    !shown.buttons.isEmpty && !shown.text.hasPrefix("❌") || shown.text.hasPrefix("❓")
      || shown.text.contains("⏳ Running")
  }
}
