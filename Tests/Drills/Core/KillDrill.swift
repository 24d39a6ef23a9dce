import ControlServer
import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayTransport
import RelayWire
import TestSupport

/// A scripted day in which one program is killed at one moment; the day is finished, and the ledger looked at.
package struct KillDrill: Sendable {
  /// How a send with an unknown outcome can be resolved.
  package enum Platform: CaseIterable, Sendable { case keys, lookup, nothing }

  package enum Moment: Sendable {
    /// At this boundary of the program, counted from 1.
    case boundary(Int)
    case after(Duration)
    /// Nothing is killed; boundaries are counted.
    case never
  }

  /// When the daemon becomes another program.
  package enum Upgrades: Sendable { case none, atNoon, allDay }

  package struct Plan: Sendable, CustomStringConvertible {
    package var victim: Victim
    package var moment: Moment
    package var platform: Platform
    package var upgrades: Upgrades

    package init(victim: Victim, moment: Moment, platform: Platform, upgrades: Upgrades = .atNoon) {
      self.victim = victim
      self.moment = moment
      self.platform = platform
      self.upgrades = upgrades
    }

    package var description: String { "\(victim) \(moment) \(platform)" }
  }

  package struct Report: Sendable {
    package var ledger: Ledger
    package var hasFired: Bool
    /// Boundaries of each program.
    package var boundaries: [Victim: Int]
    /// Descriptors that the daemon had open at the end, beyond those for the sessions of conversations that were added.
    package var descriptors: Int
    /// Each of them, for the account of a day that leaves too many.
    package var opened: [String]
    /// How often another program has taken the daemon's place.
    package var upgrades: Int
    package var time: Duration
    package var orphans: [String]
    package var log: [String]
  }

  let library: String?
  /// Messages of each of the four conversations.
  let messages: Int

  /// - Parameter library: counts boundaries; without it only instants can be chosen.
  package init(library: String?, messages: Int) {
    self.library = library
    self.messages = messages
  }

  static let conversations = ["c1", "c2", "c3", "c4"]
  /// Three pipes and the process itself; the socket of its bridge, and the file of its events.
  static let descriptorsOfSession = 6
  static let limit: Duration = .seconds(90)

  static let config = """
    messengers:
      fake:
        default:
          auth: {users: [u1]}
          images: automatic
    """

  /// - Parameter limit: descriptors that may be open at the end of the day; nil counts what there is.
  package func run(_ plan: Plan, limit: Int? = nil) async throws -> Report {
    let killpoint = try Killpoint(library: library)
    if case .boundary(let number) = plan.moment { killpoint.arm(plan.victim, at: number) }
    var report: Report?
    try await RelayFixture.run(
      config: Self.config, capabilities: Self.capabilities(plan.platform), programs: killpoint.programs(),
      startsDaemon: false
    ) { relay in
      report = try await live(plan, killpoint, relay, limit: limit)
    }
    guard let report else { throw DrillFailure("the day did not end") }
    return report
  }

  static func capabilities(_ platform: Platform) -> Capabilities {
    var capabilities = FakeMessenger.withButtons
    capabilities.idempotencyKey = platform == .keys
    capabilities.lookup = platform == .lookup
    capabilities.maximumFileBytes = 1 << 20
    return capabilities
  }

  private func live(
    _ plan: Plan, _ killpoint: Killpoint, _ relay: RelayFixture, limit: Int?
  ) async throws -> Report {
    let clock = ContinuousClock()
    let days = Locked(Self.conversations.map { Day($0, messages: messages) })
    let killed = Locked(false)
    let began = clock.now
    var isOver = false
    do {
      try await withDeadline(Self.limit, clock: clock) {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await Self.keepRunning(relay) }
          if case .after(let delay) = plan.moment {
            group.addTask {
              // The instant of the kill is what is drawn, not something waited for.
              try await clock.sleep(for: delay)
              try await Self.kill(plan.victim.programs, of: relay)
              killed.withLock { $0 = true }
              // Ends with the day.
              try await clock.sleep(for: .seconds(3_600))
            }
          }
          group.addTask { [messages] in
            switch plan.upgrades {
            case .none: break
            case .atNoon:
              await relay.messenger.wait { $0.outcomes.count >= messages * Self.conversations.count / 2 }
              try await Self.upgrade(relay, to: killpoint.daemon)
            case .allDay: while !Task.isCancelled { try await Self.upgrade(relay, to: killpoint.daemon) }
            }
          }
          try await Self.talk(days, relay)
          try await Self.resume(days, relay) {
            switch (plan.moment, plan.upgrades) {
            case (.never, .allDay): Self.upgrades(of: relay) >= Self.fewestUpgrades
            case (.never, _): true
            default: killed.withLock { $0 } || killpoint.hasFired(plan.victim)
            }
          }
          group.cancelAll()
        }
      }
      isOver = true
    } catch {
      // A message that has not ended is lost, and the ledger names it.
    }
    let time = clock.now - began
    var ledger = await Ledger(
      days.withLock { $0 }, relay.messenger, given: AgentMemory.messages(of: relay),
      mayRepeat: plan.platform == .nothing)
    if !isOver { ledger.note("the day did not end within \(Self.limit)") }
    let added = days.withLock { $0.count } - Self.conversations.count
    let ofMore = added * Self.descriptorsOfSession
    let opened = try await Self.settledDescriptors(of: relay, limit: limit.map { $0 + ofMore })
    if Self.wantsHardEnd(plan), let daemon = relay.daemon {
      Glibc.kill(daemon.pid, SIGKILL)
      _ = await daemon.exit()
    } else {
      _ = await relay.stop()
    }
    let orphans = try await Self.orphans(of: relay)
    return Report(
      ledger: ledger, hasFired: killed.withLock { $0 } || killpoint.hasFired(plan.victim),
      boundaries: Dictionary(uniqueKeysWithValues: Victim.allCases.map { ($0, killpoint.count(of: $0)) }),
      descriptors: opened.count - ofMore, opened: opened, upgrades: Self.upgrades(of: relay), time: time,
      orphans: orphans,
      log: relay.log)
  }

  private static func talk(_ days: Locked<[Day]>, _ relay: RelayFixture) async throws {
    try await withThrowingTaskGroup(of: Void.self) { conversations in
      for day in days.withLock({ $0 }) { conversations.addTask { try await day.run(with: relay.messenger) } }
      try await conversations.waitForAll()
    }
  }

  /// In a day full of them.
  package static let fewestUpgrades = 2

  static func upgrades(of relay: RelayFixture) -> Int { relay.log.count { $0.contains("; upgrade ") } }

  /// In the middle of whatever is going on, the daemon becomes another program. The kill may come before, after or in
  /// between.
  static func upgrade(_ relay: RelayFixture, to program: String) async throws {
    while !Task.isCancelled {
      do {
        // Answered where something is in its way, which it will not be for long.
        _ = try await relay.ask(ControlUpgrade(program: program))
      } catch ConnectionError.closed {
        return
      } catch {
        // Between two lives.
      }
      // A daemon that refuses does not say when it would not.
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Not every day is as long, and has as many boundaries: one goes on until the kill has fired.
  private static func resume(
    _ days: Locked<[Day]>, _ relay: RelayFixture, until hasFired: () -> Bool
  ) async throws {
    while !hasFired() {
      let more = days.withLock { days in
        let more = Day("c\(days.count + 1)", messages: Day.Kind.allCases.count)
        days.append(more)
        return more
      }
      try await more.run(with: relay.messenger)
    }
  }

  /// Half of the days end with a kill, so that the guardian has something to do.
  private static func wantsHardEnd(_ plan: Plan) -> Bool {
    switch plan.moment {
    case .boundary(let number): number % 2 == 0
    case .after(let delay): delay.components.attoseconds % 2_000_000_000_000_000 == 0
    case .never: false
    }
  }

  /// As a service manager does.
  private static func keepRunning(_ relay: RelayFixture) async throws {
    try await begin(relay)
    try await restart(relay)
  }

  private static func begin(_ relay: RelayFixture) async throws {
    while true {
      try Task.checkCancellation()
      // A daemon that is killed before it was ready is started again.
      do { return try await relay.start() } catch { continue }
    }
  }

  /// Starts a daemon whenever the one before has ended.
  static func restart(_ relay: RelayFixture) async throws {
    while let daemon = relay.daemon {
      let exits = Mailbox<Void>()
      daemon.onExit { _ in exits.post(()) }
      // Nil at the end of the day, when it runs on.
      guard await exits.next() != nil else { return }
      try await begin(relay)
    }
  }

  /// - Parameters:
  ///   - programs: names of executables.
  ///   - limit: where there is none to kill for so long, none is; nil waits for one.
  /// - Returns: whether one was.
  @discardableResult
  static func kill(_ programs: Set<String>, of relay: RelayFixture, unless limit: Duration? = nil) async throws -> Bool
  {
    let began = ContinuousClock.now
    while limit.map({ ContinuousClock.now - began < $0 }) ?? true {
      try Task.checkCancellation()
      if let daemon = relay.daemon {
        let candidates = [daemon.pid] + childProcesses(of: daemon.pid)
        let pids = candidates.filter { programs.contains(program(of: $0) ?? "") }
        if let pid = pids.randomElement(), Glibc.kill(pid, SIGKILL) == 0 { return true }
      }
      // It may just be between two lives, and nothing tells when a process of others begins.
      try await Task.sleep(for: .milliseconds(2))
    }
    return false
  }

  private static func program(of pid: Int32) -> String? {
    let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
    return path?.split(separator: "/").last.map(String.init)
  }

  static func descriptors(of pid: Int32) -> [String] {
    let directory = "/proc/\(pid)/fd"
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return numbers.map { number in
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\(number)")
      return "\(number) \(target ?? "closed meanwhile")"
    }
  }

  /// The descriptors that stay open: a connection whose asker went at the day's end, or a program that is just taking
  /// over, has some for a moment. Counted until their number is no more than the limit, or for five seconds; without a
  /// limit until the number has stayed for half a second.
  private static func settledDescriptors(of relay: RelayFixture, limit: Int?) async throws -> [String] {
    var last: [String] = []
    var unchanged = 0
    for _ in 0..<250 {
      let now = relay.daemon.map { descriptors(of: $0.pid) } ?? []
      unchanged = now.count == last.count ? unchanged + 1 : 0
      last = now
      if let limit, now.count <= limit { break }
      if limit == nil, unchanged == 25 { break }
      // Nothing tells when a process of others closes a descriptor.
      try await Task.sleep(for: .milliseconds(20))
    }
    return last
  }

  /// Processes that carry the mark of this relay's home and have not gone within ten seconds of its end.
  private static func orphans(of relay: RelayFixture) async throws -> [String] {
    // A process that is about to end may start another.
    try? await withDeadline(.seconds(10), clock: ContinuousClock()) {
      while let pid = marked(relay.scratch.path).first {
        try Task.checkCancellation()
        try await waitForEnd(of: pid)
      }
    }
    return marked(relay.scratch.path).map { "\($0) \(program(of: $0) ?? "?")" }
  }

  /// The processes in whose environment the text is.
  private static func marked(_ text: String) -> [Int32] {
    let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return processes.compactMap { Int32($0) }.filter { pid in
      guard pid != getpid(), let data = FileManager.default.contents(atPath: "/proc/\(pid)/environ"),
        let status = FileManager.default.contents(atPath: "/proc/\(pid)/stat")
      else { return false }
      // A process that has ended and is not reaped by the container's first process is no orphan.
      if String(decoding: status, as: UTF8.self).contains(") Z ") { return false }
      return data.firstRange(of: Data(text.utf8)) != nil
    }
  }
}
