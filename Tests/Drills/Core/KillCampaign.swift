import Glibc
internal import RelayWire
import TestSupport

/// Many days, in each of which one program is killed.
package struct KillCampaign: Sendable {
  package struct Total: Sendable, CustomStringConvertible {
    package var kills = 0
    package var upgrades = 0
    package var sent = 0
    package var answered = 0
    package var interrupted = 0
    package var lost = 0
    package var duplicated = 0
    package var marked = 0
    package var failedRuns: [String] = []

    /// Where most are only reported interrupted, nothing is proven.
    package var isSound: Bool { failedRuns.isEmpty && lost == 0 && duplicated == 0 && answered * 4 >= sent * 3 }

    package var description: String {
      "\(kills) kills, \(upgrades) upgrades: \(sent) messages, \(answered) answered, \(interrupted) reported interrupted, \(lost) lost, "
        + "\(duplicated) duplicated, \(marked) marked as possible repeats, \(failedRuns.count) failed runs"
    }
  }

  let count: Int
  let messages: Int
  package let seed: UInt64
  let jobs: Int
  let drill: KillDrill

  package init(count: Int, messages: Int, seed: UInt64, jobs: Int, library: String?) {
    self.count = count
    self.messages = messages
    self.seed = seed
    self.jobs = jobs
    drill = KillDrill(library: library, messages: messages)
  }

  /// - Parameter tell: a line for each run that fails, and now and then how far it has come.
  package func run(_ tell: @escaping @Sendable (String) -> Void) async throws -> Total {
    let quiet = try await quietDay(.atNoon)
    // A program that has taken over has not opened every log yet, which one that was started anew has.
    let descriptors = max(quiet.descriptors, try await quietDay(.none).descriptors)
    let counted = quiet.boundaries.sorted { $0.key.rawValue < $1.key.rawValue }
      .map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    tell("a day without a kill takes \(quiet.time.forPeople); boundaries: \(counted)")
    var random = SplitMix(seed: seed)
    let plans = (0..<count).map { plan(number: $0, quiet, &random) }
    return try await withThrowingTaskGroup(of: (KillDrill.Plan, KillDrill.Report).self) { group in
      var total = Total()
      var next = 0
      while next < plans.count || total.kills + total.failedRuns.count < plans.count {
        while next < plans.count, next - total.kills - total.failedRuns.count < jobs {
          let plan = plans[next]
          next += 1
          group.addTask { (plan, try await drill.run(plan, limit: descriptors)) }
        }
        guard let (plan, report) = try await group.next() else { break }
        total.add(report)
        if let account = Self.account("\(plan)", report, limit: descriptors) {
          total.failedRuns.append("\(plan)")
          tell(account)
        } else {
          total.kills += 1
        }
        if (total.kills + total.failedRuns.count) % 25 == 0 { tell("… \(total)") }
      }
      return total
    }
  }

  private func quietDay(_ upgrades: KillDrill.Upgrades) async throws -> KillDrill.Report {
    let plan = KillDrill.Plan(victim: .daemon, moment: .never, platform: .keys, upgrades: upgrades)
    let report = try await drill.run(plan)
    guard report.ledger.isSound, report.orphans.isEmpty else {
      throw DrillFailure(Self.account("a day without a kill", report, limit: nil) ?? "")
    }
    return report
  }

  private func plan(number: Int, _ quiet: KillDrill.Report, _ random: inout SplitMix) -> KillDrill.Plan {
    // The daemon every other time: it has the most to lose.
    let others = Victim.allCases.filter { $0 != .daemon }
    let victim = number % 2 == 0 ? Victim.daemon : others[number / 2 % others.count]
    let platform = KillDrill.Platform.allCases[number / 2 % KillDrill.Platform.allCases.count]
    let last = quiet.boundaries[victim] ?? 0
    let isCounted = last > 0 && number % 5 != 4
    let moment: KillDrill.Moment =
      isCounted
      ? .boundary(Int.random(in: 1...last, using: &random))
      : .after(
        .milliseconds(
          Int.random(in: 0...max(1, Int(quiet.time.components.seconds * 1_000) * 8 / 10), using: &random)))
    return KillDrill.Plan(victim: victim, moment: moment, platform: platform)
  }

  /// Nil when all is well.
  private static func account(_ name: String, _ report: KillDrill.Report, limit: Int?) -> String? {
    var lines = report.ledger.lost.map { "lost: \($0)" } + report.ledger.duplicated.map { "duplicated: \($0)" }
    lines += report.ledger.problems
    lines += report.orphans.map { "orphan: \($0)" }
    if limit != nil, !report.hasFired { lines.append("the kill did not fire") }
    if let limit, report.descriptors > limit {
      lines.append("\(report.descriptors) descriptors are open, without a kill \(limit)")
      lines += report.opened.map { "open: \($0)" }
    }
    guard !lines.isEmpty else { return nil }
    return "FAILED \(name)\n" + lines.map { "  " + $0 }.joined(separator: "\n") + "\n"
      + report.log.suffix(40).map { "  | " + $0 }.joined(separator: "\n")
  }
}

extension KillCampaign.Total {
  mutating func add(_ report: KillDrill.Report) {
    sent += report.ledger.sent
    upgrades += report.upgrades
    answered += report.ledger.answered
    interrupted += report.ledger.interrupted
    lost += report.ledger.lost.count
    duplicated += report.ledger.duplicated.count
    marked += report.ledger.marked
  }
}
