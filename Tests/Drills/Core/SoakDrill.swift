import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayHome
import RelayWire
import TestSupport

/// Many conversations for a long time, with a crash a second: what a daemon needs must not grow.
package struct SoakDrill: Sendable {
  package struct Sample: Sendable, CustomStringConvertible {
    package var seconds: Int
    package var megabytes: Double
    package var descriptors: Int
    package var databaseBytes: Int
    package var answered: Int
    package var crashes: Int

    package var description: String {
      "\(seconds) s: \(Double(Int(megabytes * 10)) / 10) MB, \(descriptors) descriptors, database "
        + "\(databaseBytes / 1024) KiB, \(answered) answered, \(crashes) crashes"
    }
  }

  package struct Report: Sendable {
    package var samples: [Sample] = []
    package var problems: [String] = []
    /// When every conversation had been answered after the last crash.
    package var answered = 0
  }

  let conversations: Int
  let duration: Duration
  let interval: Duration

  package init(conversations: Int, duration: Duration, interval: Duration) {
    self.conversations = conversations
    self.duration = duration
    self.interval = interval
  }

  /// Fewer agents than conversations: they take turns.
  package static let sessions = "maximum: 10"

  /// A minute and a half: old work is removed all the time, so that the database must come to rest.
  package static let keepDays = 0.001

  /// Growth that is none, from the second quarter of the time to the last: in megabytes, and in bytes.
  private static let maximumGrowth = 3.0
  /// The descriptors that a leak of one in a hundred crashes amounts to within half the time.
  private static let maximumAddedDescriptors = 2
  private static let maximumDatabaseGrowth = 512 << 10

  private static let config = """
    messengers:
      fake:
        default:
          auth: {users: [u1]}
    \(ModelDrill.restart)
    storage: {keepDays: \(keepDays)}

    """

  package func run(_ tell: @escaping @Sendable (String) -> Void) async throws -> Report {
    let report = Locked(Report())
    try await RelayFixture.run(
      config: Self.config, sessions: Self.sessions, capabilities: KillDrill.capabilities(.keys)
    ) { relay in
      let crashes = Locked(0)
      let (isOver, isCrashing) = (Locked(false), Locked(true))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<conversations {
          group.addTask { try await Self.talk(number, relay, whileCrashing: isCrashing) }
        }
        group.addTask {
          while !isOver.withLock({ $0 }) {
            // A service that nobody needs sleeps: then it is another's turn.
            let victims: [Victim] = [.messenger, .formatter, .attachments, .pi]
            for victim in victims.shuffled() {
              guard try await KillDrill.kill(victim.programs, of: relay, unless: .milliseconds(50)) else { continue }
              crashes.withLock { $0 += 1 }
              break
            }
            // The drill's rhythm: a crash a second.
            try await Task.sleep(for: .seconds(1))
          }
          isCrashing.withLock { $0 = false }
        }
        let began = ContinuousClock.now
        while ContinuousClock.now - began < duration {
          // The rhythm of the samples.
          try await Task.sleep(for: interval)
          let sample = await Self.sample(relay, since: began, crashes.withLock { $0 })
          report.withLock { $0.samples.append(sample) }
          tell("\(sample)")
        }
        isOver.withLock { $0 = true }
        try await group.waitForAll()
      }
      let contradictions = await relay.messenger.contradictions
      let answered = await relay.messenger.outcomes.values.count { $0 == .answered }
      report.withLock { report in
        report.problems += contradictions
        report.answered = answered
      }
    }
    return report.withLock { report in
      report.problems += Self.growth(report.samples)
      return report
    }
  }

  /// One conversation: a message now and then, each brought to its end. The conversation goes on after the last crash until
  /// a message is answered.
  private static func talk(_ number: Int, _ relay: RelayFixture, whileCrashing isCrashing: Locked<Bool>) async throws {
    let day = Day("c\(number)", lines: [])
    var index = 0
    var isCalm = false
    while true {
      let kind: Day.Kind = index % 5 == 4 ? .tool : .words
      let line = Day.Line(number: index, kind: kind, tag: "<c\(number).\(index)>", isFollowed: false)
      try await day.say(line, relay.messenger)
      try await day.finish([line], with: relay.messenger)
      index += 1
      if isCalm, await relay.messenger.outcomes[line.tag] == .answered { return }
      isCalm = !isCrashing.withLock { $0 }
      guard !isCalm else { continue }
      // The load: people write now and then.
      try await Task.sleep(for: .milliseconds(Int.random(in: 500...5_000)))
    }
  }

  private static func sample(
    _ relay: RelayFixture, since began: ContinuousClock.Instant, _ crashes: Int
  ) async -> Sample {
    let pid = relay.daemon?.pid ?? 0
    let status = FileManager.default.contents(atPath: "/proc/\(pid)/status") ?? Data()
    let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmRSS") }
    let size = ["", "-wal"].reduce(0) { sum, suffix in
      var status = stat()
      return stat(relay.home.database + suffix, &status) == 0 ? sum + Int(status.st_size) : sum
    }
    return Sample(
      seconds: Int((ContinuousClock.now - began).components.seconds),
      megabytes: Double(line?.filter(\.isNumber) ?? "").map { $0 / 1024 } ?? 0,
      descriptors: KillDrill.descriptors(of: pid).count, databaseBytes: size,
      answered: await relay.messenger.outcomes.values.count { $0 == .answered }, crashes: crashes)
  }

  private static func middle(_ numbers: [Int]) -> Int { numbers.sorted()[numbers.count / 2] }

  /// Compares the best of the second quarter with the best of the last: what is freed at times is not needed.
  private static func growth(_ samples: [Sample]) -> [String] {
    guard samples.count >= 8 else { return [] }
    let quarter = samples.count / 4
    let (early, late) = (samples[quarter..<2 * quarter], samples.suffix(quarter))
    var problems: [String] = []
    let memory = (late.map(\.megabytes).min() ?? 0) - (early.map(\.megabytes).min() ?? 0)
    if memory > maximumGrowth { problems.append("memory grew by \(memory) MB") }
    // Which plugins are down and how many agents run differs from moment to moment: the middle of many moments does not.
    let descriptors = middle(late.map(\.descriptors)) - middle(early.map(\.descriptors))
    if descriptors > maximumAddedDescriptors { problems.append("\(descriptors) descriptors more are open") }
    // Nothing is removed before it is old enough: until then a database grows with its work.
    guard Double(samples[quarter].seconds) > keepDays * 86_400 else { return problems }
    let database = (late.map(\.databaseBytes).min() ?? 0) - (early.map(\.databaseBytes).min() ?? 0)
    if database > maximumDatabaseGrowth { problems.append("the database grew by \(database >> 10) KiB") }
    return problems
  }
}
