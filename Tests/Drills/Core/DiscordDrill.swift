import FoundationEssentials
import Glibc
import RelayPipes
import RelayWire
import Supervisor
import TestSupport

/// People write to the real Discord plugin at a Discord of the tests' own, while one program after another is killed with
/// SIGKILL at random instants.
package struct DiscordDrill: Sendable {
  package enum Victim: String, CaseIterable, Sendable { case daemon, discord, formatter, agent, connection }

  package struct Report: Sendable, CustomStringConvertible {
    package var kills = 0
    package var answered = 0
    package var interrupted = 0
    package var dropped = 0
    package var lost: [String] = []
    package var duplicated: [String] = []
    package var marked = 0
    package var identifies = 0
    package var resumes = 0
    package var pings = 0

    package var isSound: Bool { lost.isEmpty && duplicated.isEmpty && identifies == 1 && pings == 0 }

    package var description: String {
      "\(kills) kills: \(answered) answered, \(interrupted) reported interrupted, \(dropped) dropped, \(lost.count) lost, "
        + "\(duplicated.count) duplicated, \(marked) marked as possible repeats; \(identifies) IDENTIFY, "
        + "\(resumes) RESUME, \(pings) pings"
    }
  }

  private enum End { case answered, interrupted, dropped }

  let kills: Int
  package let seed: UInt64

  package init(kills: Int, seed: UInt64) {
    self.kills = kills
    self.seed = seed
  }

  package func run(_ tell: @escaping @Sendable (String) -> Void) async throws -> Report {
    let result = Locked(Report())
    try await Discord.run("dms: true", top: ModelDrill.restart) { discord, relay in
      try discord.tell(#"{"do": "limit", "count": 20, "seconds": 0.2}"#)
      var random = SplitMix(seed: seed)
      var report = Report()
      // Before the first message has been stored there is no session to be resumed.
      _ = try await live(0, nil, relay, discord, &random)
      for number in 1...kills {
        let victim = Victim.allCases[Int.random(in: 0..<Victim.allCases.count, using: &random)]
        switch try await live(number, victim, relay, discord, &random) {
        case .answered: report.answered += 1
        case .interrupted: report.interrupted += 1
        case .dropped: report.dropped += 1
        case nil: report.lost.append("t\(number)t, \(victim) killed")
        }
        report.kills = number
        if number % 25 == 0 { tell("… \(report)") }
      }
      result.withLock { $0 = Self.judged(report, DiscordLedger(discord.printed), kills) }
    }
    return result.withLock { $0 }
  }

  /// One message, one death, and how the message ended; nil when it has not.
  private func live(
    _ number: Int, _ victim: Victim?, _ relay: RelayFixture, _ discord: PythonServer, _ random: inout SplitMix
  ) async throws -> End? {
    let tag = "t\(number)t"
    let isChannel = Bool.random(using: &random)
    let place = isChannel ? Discord.general : Discord.direct
    let text = ["note \(tag)", "/tool 30 \(tag)", "/slow 8 \(tag)"][Int.random(in: 0..<3, using: &random)]
    let pause = Duration.milliseconds(Int.random(in: 0...700, using: &random))
    let target = try await pid(of: victim, relay)
    let before = Self.notices(DiscordLedger(discord.printed), in: place).count
    try Discord.say(text, isGuild: isChannel, channel: place, to: discord)
    // The instant is what is random; nothing waits for it to be the right one.
    try await Task.sleep(for: pause)
    switch victim {
    case nil: break
    case .connection: try discord.tell(#"{"do": "drop"}"#)
    case .daemon: try await relay.killAndStart()
    default: if let target { kill(target, SIGKILL) }
    }
    return await end(of: tag, in: place, after: before, discord)
  }

  private func pid(of victim: Victim?, _ relay: RelayFixture) async throws -> Int32? {
    let status = try await relay.status()
    switch victim {
    case .discord: return status.plugins.first { $0.name == "discord/default" }?.pid
    case .formatter: return status.plugins.first { $0.name == "formatter" }?.pid
    case .agent: return status.sessions.compactMap(\.pid).first
    case .daemon, .connection, nil: return nil
    }
  }

  private func end(of tag: String, in place: String, after before: Int, _ discord: PythonServer) async -> End? {
    var asked: Set<String> = []
    return await discord.wait { lines in
      let ledger = DiscordLedger(lines)
      let here = ledger.texts.filter { $0.channel == place }
      if here.contains(where: { Self.isAnswer($0, to: tag) }) { return .answered }
      if here.contains(where: { $0.text.hasPrefix("✔") && $0.text.contains("— Drop") && $0.text.contains(tag) }) {
        return .dropped
      }
      // Where nothing proves whether the agent has it, the person decides.
      for question in here where asked.insert(question.id).inserted {
        guard let drop = question.buttons.first(where: { $0.label == "Drop" }) else {
          asked.remove(question.id)
          continue
        }
        try? Discord.press(drop.id, of: question.id, channel: place, at: discord)
      }
      return Self.notices(ledger, in: place).count > before ? .interrupted : nil
    }
  }

  private static let marks = ["❌", "⏹", "⚠️", "🗑️"]
  private static let repeated = "(possible repeat) "

  private static func isAnswer(_ shown: DiscordLedger.Shown, to tag: String) -> Bool {
    guard shown.text.contains(tag) else { return false }
    let text = shown.text.hasPrefix(repeated) ? String(shown.text.dropFirst(repeated.count)) : shown.text
    return !(marks + ["⏳", "❓", "✔", "✖", "▶"]).contains { text.hasPrefix($0) }
  }

  private static func notices(_ ledger: DiscordLedger, in place: String) -> [DiscordLedger.Shown] {
    ledger.texts.filter { shown in shown.channel == place && marks.contains { shown.text.hasPrefix($0) } }
  }

  private static func judged(_ report: Report, _ ledger: DiscordLedger, _ kills: Int) -> Report {
    var report = report
    for number in 0...kills {
      let answers = ledger.texts.filter { isAnswer($0, to: "t\(number)t") }
      let plain = answers.filter { !$0.text.hasPrefix(repeated) }
      report.marked += answers.count - plain.count
      if plain.count > 1 { report.duplicated.append("t\(number)t was answered \(plain.count) times") }
    }
    report.identifies = ledger.identifies
    report.resumes = ledger.resumes
    report.pings = ledger.pings
    return report
  }
}
