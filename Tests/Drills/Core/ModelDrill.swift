import ControlServer
import FoundationEssentials
import Glibc
import RelayConcurrency
import RelayHome
import RelayModel
import RelayTransport
import RelayWire
import TestSupport

/// Real relays on random walks, each message of which is judged by `MessageLifecycle`; a walk that fails is made as short
/// as it can be and still fail.
package struct ModelDrill: Sendable {
  let library: String

  package init(library: String) {
    self.library = library
  }

  private static let limit: Duration = .seconds(120)

  /// Drop-in plugins return at once, so that a walk is short.
  package static let restart = "restart: {firstDelayMilliseconds: 0, longestDelaySeconds: 1, failingCount: 1000}"

  private static let config = """
    messengers:
      fake:
        default:
          auth: {users: [u1]}
    \(restart)

    """

  /// Walks them all; answers an account of each that fails.
  ///
  /// - Parameter shrinks: whether such a walk is made as short as it can be, which takes its time.
  package func run(
    count: Int, seed: UInt64, jobs: Int, shrinks: Bool = true, _ tell: @escaping @Sendable (String) -> Void
  ) async throws -> [String] {
    try await withThrowingTaskGroup(of: String?.self) { group in
      var failures: [String] = []
      var (begun, ended) = (0, 0)
      while ended < count {
        while begun < count, begun - ended < jobs {
          let walk = Walk(seed: seed + UInt64(begun))
          begun += 1
          group.addTask { try await judge(walk, shrinks: shrinks) }
        }
        guard let account = try await group.next() else { break }
        ended += 1
        if let account {
          failures.append(account)
          tell(account)
        }
        if ended % 100 == 0 { tell("… \(ended) walks, \(failures.count) failed") }
      }
      return failures
    }
  }

  private func judge(_ walk: Walk, shrinks: Bool) async throws -> String? {
    var problems = try await problems(of: walk)
    guard !problems.isEmpty else { return nil }
    var shortest = walk
    var index = 0
    while shrinks, index < shortest.events.count {
      let candidate = shortest.without(index)
      let found = try await self.problems(of: candidate)
      if found.isEmpty {
        index += 1
      } else {
        shortest = candidate
        problems = found
      }
    }
    return "FAILED \(shortest)\n" + problems.map { "  \($0)" }.joined(separator: "\n")
  }

  /// The faults of one walk.
  func problems(of walk: Walk) async throws -> [String] {
    let clock = try ShiftedClock()
    var problems: [String] = []
    try await RelayFixture.run(
      config: Self.config, capabilities: KillDrill.capabilities(walk.platform),
      programs: Interposer.shifting(by: clock.file, library: library)
    ) { relay in
      let script = Locked(Script())
      let journal = try StageJournal(in: relay.home.database)
      let step = Step(relay: relay, script: script, journal: journal, clock: clock)
      do {
        try await withDeadline(Self.limit, clock: ContinuousClock()) {
          for event in walk.events + [.settle] { try await step.take(event) }
        }
      } catch {
        problems.append("the walk did not end: \(error)")
      }
      let given = AgentMemory.messages(of: relay)
      problems += try await Self.unexplained(script.withLock { $0 }, journal, relay.messenger, given: given)
      let ledger = await Ledger(
        script.withLock { $0.days }, relay.messenger, given: given,
        // A message that has ended its messenger twice is set aside as it is, and said again with the mark.
        mayRepeat: walk.platform == .nothing || relay.log.contains { $0.contains("was set aside") },
        isInOrder: false, mayLeave: walk.lostReceipts)
      problems += ledger.lost + ledger.duplicated + ledger.problems
      if !problems.isEmpty { problems += relay.log.suffix(20).map { "| \($0)" } }
    }
    return problems
  }

  /// Messages whose stages and ends no life explains.
  private static func unexplained(
    _ script: Script, _ journal: StageJournal, _ messenger: FakeMessenger, given: [String]
  ) async throws -> [String] {
    // Before the journal is read: each of these ends is stored by then.
    let told = await messenger.told
    let dialogs = await messenger.messages.filter { $0.role == .dialog }
    let tags = Set(script.all.map(\.line.tag))
    return try journal.histories().compactMap { key, history in
      var history = history
      history.told = told[key.id] ?? []
      // The words of others, as of answers, may be those of several messages.
      if tags.contains(key.id) {
        history.acceptances = script.acceptances[key.id] ?? 0
        history.decisions = dialogs.count { $0.history.contains { $0.contains(key.id) } }
        history.entries = given.count { $0.contains(key.id) }
      }
      return LifecycleOracle.problem(in: history)
    }
  }
}

/// Carries out the events of a walk.
private struct Step {
  let relay: RelayFixture
  let script: Locked<Script>
  let journal: StageJournal
  let clock: ShiftedClock

  func take(_ event: Walk.Event) async throws {
    let messenger = relay.messenger
    switch event {
    case .say(let conversation, let kind): try await say(newLine(conversation, kind), conversation)
    case .repeated(let index):
      let said = script.withLock { $0.all }
      guard !said.isEmpty else { return }
      let (conversation, line) = said[index % said.count]
      try await say(line, Script.conversations.firstIndex(of: conversation) ?? 0)
    case .reordered(let conversation):
      let first = newLine(conversation, .words)
      let second = newLine(conversation, .words)
      script.withLock { $0.swapLast(in: conversation) }
      for line in [second, first, second] { try await say(line, conversation) }
    case .crash(.daemon): try await relay.killAndStart { try journal.noteKilledDaemon() }
    case .crash(let victim):
      // An agent that is about to start is a guardian still.
      if [.pi, .guardian].contains(victim) { try journal.note(.reason(.agentKilled)) }
      try await KillDrill.kill(victim.programs, of: relay, unless: .seconds(1))
    case .upgrade:
      try journal.note(.upgradeBegan)
      try await upgrade()
      try journal.note(.upgradeEnded)
    case .refuse(let times, let tooFast):
      let failure = tooFast ? DeliveryFailure.rateLimited(retryAfter: 0.02) : .transient("reset by the platform")
      for method in [MessageSend.method, MessageEdit.method] {
        await messenger.fail(method, with: Array(repeating: failure.wireError, count: times))
      }
    case .doubt(let times):
      let failure = DeliveryFailure.unknownOutcome("the platform did not answer").wireError
      await messenger.failLate(MessageSend.method, with: Array(repeating: failure, count: times))
    case .loseReceipt(let conversation):
      let before = await messenger.swallowedCount
      await messenger.swallowAnswers(1)
      let line = newLine(conversation, .words)
      try await say(line, conversation)
      // A question of before holds up what is behind it, and is answered when all come to rest.
      await messenger.wait {
        $0.swallowedCount > before || $0.outcomes[line.tag] != nil || !$0.questions.isEmpty
      }
      await messenger.swallowAnswers(0)
      try await KillDrill.kill(Victim.messenger.programs, of: relay, unless: .seconds(1))
    case .jump(let hours): clock.shift(bySeconds: hours * 3_600)
    case .settle:
      for day in script.withLock({ $0.days }) { try await day.finish(day.lines, with: messenger) }
    }
  }

  private func newLine(_ conversation: Int, _ kind: Day.Kind) -> Day.Line {
    script.withLock { $0.newLine(in: conversation, kind) }
  }

  private func say(_ line: Day.Line, _ conversation: Int) async throws {
    let day = Day(Script.conversations[conversation], lines: [])
    let stored = try await day.say(line, relay.messenger)
    if stored { script.withLock { $0.noteAcceptance(line.tag) } }
  }

  private func upgrade() async throws {
    let before = KillDrill.upgrades(of: relay)
    do {
      // It answers only when it is refused, as while an agent starts: then everything goes on.
      _ = try await relay.ask(ControlUpgrade(program: Built.executable("pi-relayd")))
    } catch ConnectionError.closed {
      try await relay.waitForLog { _ in KillDrill.upgrades(of: relay) > before }
    }
  }
}

/// The wall clock of a daemon, shifted at will.
///
/// `@unchecked`: one word, written here and read by the other process.
package final class ShiftedClock: @unchecked Sendable {
  private let folder: TemporaryFolder
  private let offset: UnsafeMutablePointer<Int64>

  package var file: String { folder.path + "/clock" }

  package init() throws {
    folder = try TemporaryFolder()
    let descriptor = open(folder.path + "/clock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    guard descriptor >= 0, ftruncate(descriptor, 8) == 0,
      let mapping = mmap(nil, 8, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), mapping != MAP_FAILED
    else { throw DrillFailure("the clock cannot be made: \(SystemError.reason())") }
    offset = mapping.bindMemory(to: Int64.self, capacity: 1)
  }

  deinit { munmap(offset, 8) }

  package func shift(bySeconds seconds: Int) { offset.pointee += Int64(seconds) }
}
