import FoundationEssentials
import Glibc
import RelayPipes
import RelayWire
import Supervisor
import TestSupport

/// People write to the real Discord plugin at a Discord of the tests' own, while one program after another is killed with
/// SIGKILL at one of its boundaries, or at a random instant.
package struct DiscordDrill: Sendable {
  /// What is broken; nil: the connection to Discord.
  private typealias Target = Victim?

  package struct Report: Sendable, CustomStringConvertible {
    package var kills = 0
    package var atBoundaries = 0
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
      "\(kills) kills (\(atBoundaries) at boundaries): \(answered) answered, \(interrupted) reported interrupted, \(dropped) dropped, \(lost.count) lost, "
        + "\(duplicated.count) duplicated, \(marked) marked as possible repeats; \(identifies) IDENTIFY, "
        + "\(resumes) RESUME, \(pings) pings"
    }
  }

  private enum End { case answered, interrupted, dropped }

  let kills: Int
  package let seed: UInt64
  let library: String?

  /// - Parameter library: counts boundaries; without it only instants can be chosen.
  package init(kills: Int, seed: UInt64, library: String?) {
    self.kills = kills
    self.seed = seed
    self.library = library
  }

  package func run(_ tell: @escaping @Sendable (String) -> Void) async throws -> Report {
    let result = Locked(Report())
    let killpoint = try Killpoint(library: library)
    let programs = try killpoint.programs(messenger: (Victim.discord, Victim.discord))
    try await Discord.run("dms: true", top: ModelDrill.restart, programs: programs) { discord, relay in
      try discord.tell(#"{"do": "limit", "count": 20, "seconds": 0.2}"#)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await KillDrill.restart(relay) }
        let report = try await live(killpoint, relay, discord, tell)
        result.withLock { $0 = report }
        group.cancelAll()
      }
    }
    return result.withLock { $0 }
  }

  private func live(
    _ killpoint: Killpoint, _ relay: RelayFixture, _ discord: PythonServer, _ tell: @Sendable (String) -> Void
  ) async throws -> Report {
    var random = SplitMix(seed: seed)
    var report = Report()
    var messages = 0
    var armed: Victim?
    func say(_ breaking: () async throws -> Void) async throws {
      switch try await message(messages, discord, &random, breaking) {
      case .answered: report.answered += 1
      case .interrupted: report.interrupted += 1
      case .dropped: report.dropped += 1
      case nil: report.lost.append("t\(messages)t")
      }
      messages += 1
    }
    // Before the first message has been stored there is no session to be resumed.
    try await say {}
    while report.kills < kills {
      if armed == nil, library != nil, Bool.random(using: &random) {
        let victim = [Victim.daemon, .messenger, .formatter, .pi][Int.random(in: 0..<4, using: &random)]
        killpoint.arm(victim, at: killpoint.count(of: victim) + Int.random(in: 1...Self.reach(victim), using: &random))
        armed = victim
      }
      if let victim = armed {
        // It may have to wait for the message after this one.
        try await say {}
        guard killpoint.hasFired(victim) else { continue }
        killpoint.disarm(victim)
        armed = nil
        report.atBoundaries += 1
      } else {
        let targets = Victim.allCases.map(Target.some) + [nil]
        let target = targets[Int.random(in: 0..<targets.count, using: &random)]
        let pause = Duration.milliseconds(Int.random(in: 0...700, using: &random))
        var isBroken = true
        try await say {
          // The instant is what is random; nothing waits for it to be the right one.
          try await Task.sleep(for: pause)
          if let target {
            isBroken = try await KillDrill.kill(target, of: relay, unless: .seconds(1))
          } else {
            try discord.tell(#"{"do": "drop"}"#)
          }
        }
        guard isBroken else { continue }
      }
      report.kills += 1
      if report.kills % 25 == 0 { tell("… \(report)") }
    }
    return Self.judged(report, DiscordLedger(discord.printed), messages)
  }

  /// About the boundaries of one message.
  private static func reach(_ victim: Victim) -> Int {
    switch victim {
    case .daemon: 90
    case .messenger: 30
    case .pi: 40
    default: 4
    }
  }

  /// One message, what is broken over it, and how it ended; nil when it has not.
  private func message(
    _ number: Int, _ discord: PythonServer, _ random: inout SplitMix, _ breaking: () async throws -> Void
  ) async throws -> End? {
    let tag = "t\(number)t"
    let isChannel = Bool.random(using: &random)
    let place = isChannel ? Discord.general : Discord.direct
    let text = ["note \(tag)", "/tool 30 \(tag)", "/slow 8 \(tag)"][Int.random(in: 0..<3, using: &random)]
    let before = Self.notices(DiscordLedger(discord.printed), in: place).count
    try Discord.say(text, isGuild: isChannel, channel: place, to: discord)
    try await breaking()
    return await end(of: tag, in: place, after: before, discord)
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

  private static func judged(_ report: Report, _ ledger: DiscordLedger, _ messages: Int) -> Report {
    var report = report
    for number in 0..<messages {
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
