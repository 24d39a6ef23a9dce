import FoundationEssentials
import RelayConcurrency
import TestSupport

/// People write to the real Discord plugin at a Discord of the tests' own, while one program after another is killed with
/// SIGKILL at one of its boundaries, or at a random instant, the connection is cut, and the daemon becomes another program.
package struct DiscordDrill: Sendable {
  private enum Breaking: Sendable {
    case boundary(Victim, reach: Int)
    case instant(Victim, Duration)
    case connection(Duration)
  }

  /// How long a message may take to end, whatever is killed over it.
  private static let patience: Duration = .seconds(60)

  let kills: Int
  package let seed: UInt64
  let library: String?

  /// - Parameter library: counts boundaries; without it only instants can be chosen.
  package init(kills: Int, seed: UInt64, library: String?) {
    self.kills = kills
    self.seed = seed
    self.library = library
  }

  package func run(_ tell: @escaping @Sendable (String) -> Void) async throws -> DiscordAccount {
    let result = Locked<DiscordAccount?>(nil)
    let killpoint = try Killpoint(library: library)
    let programs = try killpoint.programs(messenger: (Victim.discord, Victim.discord))
    try await Discord.run("dms: true", top: ModelDrill.restart, programs: programs) { discord, relay in
      try discord.tell(#"{"do": "limit", "count": 20, "seconds": 0.2}"#)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await KillDrill.restart(relay) }
        let account = try await live(killpoint, relay, discord, tell)
        result.withLock { $0 = account }
        group.cancelAll()
      }
    }
    guard let account = result.withLock({ $0 }) else { throw DrillFailure("the drill did not end") }
    return account
  }

  private func live(
    _ killpoint: Killpoint, _ relay: RelayFixture, _ discord: PythonServer, _ tell: @Sendable (String) -> Void
  ) async throws -> DiscordAccount {
    var round = DiscordRound(discord: discord, seed: seed, patience: Self.patience)
    var done = 0
    var atBoundaries = 0
    func account() -> DiscordAccount {
      DiscordAccount(
        round.written, DiscordLedger(discord.printed), given: AgentMemory.messages(of: relay), kills: done,
        atBoundaries: atBoundaries, upgrades: KillDrill.upgrades(of: relay))
    }
    // Before the first message has been stored there is no session to be resumed.
    try await round.talk {}
    while done < kills {
      var random = SplitMix(seed: seed &+ UInt64(done))
      if done % 10 == 5 { try await round.talk { try await KillDrill.upgrade(relay, to: killpoint.daemon) } }
      switch breaking(&random) {
      case .boundary(let victim, let reach):
        killpoint.arm(victim, at: killpoint.count(of: victim) + reach)
        // It may have to wait for one of the messages after this one.
        while !killpoint.hasFired(victim) { try await round.talk {} }
        killpoint.disarm(victim)
        atBoundaries += 1
      case .instant(let victim, let pause):
        var isKilled = false
        while !isKilled {
          try await round.talk {
            // The instant is what is random; nothing waits for it to be the right one.
            try await Task.sleep(for: pause)
            isKilled = try await KillDrill.kill(victim.programsAtDiscord, of: relay, unless: .seconds(1))
          }
        }
      case .connection(let pause):
        try await round.talk {
          // As above.
          try await Task.sleep(for: pause)
          try discord.tell(#"{"do": "drop"}"#)
        }
      }
      done += 1
      if done % 25 == 0 { tell("… \(account())") }
    }
    // With nothing in their way: whatever came before is shown by then.
    try await round.end()
    return account()
  }

  private func breaking(_ random: inout SplitMix) -> Breaking {
    if library != nil, Bool.random(using: &random) {
      let victim = [Victim.daemon, .messenger, .formatter, .pi][Int.random(in: 0..<4, using: &random)]
      return .boundary(victim, reach: Int.random(in: 1...Self.reach(victim), using: &random))
    }
    let pause = Duration.milliseconds(Int.random(in: 0...700, using: &random))
    let number = Int.random(in: 0...Victim.allCases.count, using: &random)
    return number < Victim.allCases.count ? .instant(Victim.allCases[number], pause) : .connection(pause)
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
}
