import TestSupport

/// A random walk: what people, platforms and fate do to a relay, one thing after another.
package struct Walk: Sendable, CustomStringConvertible {
  enum Event: Sendable, Equatable {
    /// A new message; its answer is not waited for.
    case say(conversation: Int, kind: Day.Kind)
    /// A message that was said before, by its place among them.
    case repeated(Int)
    /// Two messages arrive in the wrong order, then the first again.
    case reordered(conversation: Int)
    case crash(Victim)
    case upgrade
    /// The platform refuses: too fast, or for a moment.
    case refuse(times: Int, tooFast: Bool)
    /// The platform carries it out, and the plugin cannot say so.
    case doubt(times: Int)
    /// The plugin dies after the platform has carried out a send.
    case loseReceipt(conversation: Int)
    /// The wall clock is set, in hours.
    case jump(hours: Int)
    /// Everything said so far comes to its end.
    case settle
  }

  package let seed: UInt64
  let platform: KillDrill.Platform
  var events: [Event]

  package init(seed: UInt64, length: Int = 14) {
    var random = SplitMix(seed: seed)
    self.seed = seed
    platform = KillDrill.Platform.allCases.randomElement(using: &random) ?? .keys
    events = (0..<length).map { _ in Self.event(&random) }
  }

  private static func event(_ random: inout SplitMix) -> Event {
    let conversation = Int.random(in: 0..<2, using: &random)
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<7:
      return .say(conversation: conversation, kind: [.words, .tool, .long].randomElement(using: &random) ?? .words)
    case 7: return .repeated(Int.random(in: 0..<8, using: &random))
    case 8: return .reordered(conversation: conversation)
    case 9, 10: return .crash(.daemon)
    case 11: return .crash(.messenger)
    case 12: return .crash(.pi)
    case 13: return .crash([.formatter, .guardian].randomElement(using: &random) ?? .formatter)
    case 14: return .upgrade
    case 15:
      // Passing faults are waited out twice as long each time: eight of them, over one message, are a minute.
      let tooFast = Bool.random(using: &random)
      return .refuse(times: Int.random(in: 1...(tooFast ? 4 : 2), using: &random), tooFast: tooFast)
    case 16: return .doubt(times: Int.random(in: 1...2, using: &random))
    case 17: return .loseReceipt(conversation: conversation)
    case 18: return .jump(hours: Int.random(in: -30...30, using: &random))
    default: return .settle
    }
  }

  /// Receipts that it may lose.
  var lostReceipts: Int {
    events.reduce(0) { sum, event in
      switch event {
      // The messenger dies of it.
      case .crash(.daemon), .crash(.messenger), .loseReceipt: sum + Script.conversations.count
      case .doubt(let times): sum + times
      default: sum
      }
    }
  }

  package var description: String {
    "walk \(seed) on a platform with \(platform):\n" + events.map { "    \($0)" }.joined(separator: "\n")
  }

  /// The same without one event.
  func without(_ index: Int) -> Walk {
    var walk = self
    walk.events.remove(at: index)
    return walk
  }
}

/// The messages that people have written on a walk.
struct Script {
  private(set) var lines: [[Day.Line]] = [[], []]
  /// How often a messenger was told that a message is new, by its tag.
  private(set) var acceptances: [String: Int] = [:]

  static let conversations = ["c1", "c2"]

  mutating func newLine(in conversation: Int, _ kind: Day.Kind) -> Day.Line {
    let number = lines[conversation].count
    let line = Day.Line(
      number: number, kind: kind, tag: "<\(Self.conversations[conversation]).\(number)>", isFollowed: false)
    lines[conversation].append(line)
    return line
  }

  mutating func noteAcceptance(_ tag: String) { acceptances[tag, default: 0] += 1 }

  /// Two messages whose order of arrival is not that of their numbers.
  mutating func swapLast(in conversation: Int) {
    let count = lines[conversation].count
    lines[conversation].swapAt(count - 1, count - 2)
  }

  var all: [(conversation: String, line: Day.Line)] {
    lines.enumerated().flatMap { index, lines in lines.map { (Self.conversations[index], $0) } }
  }

  var days: [Day] { lines.enumerated().map { Day(Self.conversations[$0], lines: $1) } }
}
