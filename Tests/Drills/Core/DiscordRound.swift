import RelayConcurrency
import TestSupport

/// Writes people's messages, some at a time, and waits until each of them has ended.
struct DiscordRound {
  struct Written: Sendable {
    let tag: String
    let place: String
  }

  let discord: PythonServer
  let seed: UInt64
  let patience: Duration
  private(set) var written: [Written] = []

  init(discord: PythonServer, seed: UInt64, patience: Duration) {
    self.discord = discord
    self.seed = seed
    self.patience = patience
  }

  /// One message or two, what is broken over them, and the wait for their ends.
  mutating func talk(_ breaking: () async throws -> Void) async throws {
    var random = SplitMix(seed: seed ^ UInt64(written.count) << 32)
    let before = Self.notices(DiscordLedger(discord.printed))
    var new: [Written] = []
    for _ in 0...Int.random(in: 0...1, using: &random) {
      let place = Bool.random(using: &random) ? Discord.general : Discord.direct
      let kinds = ["note %", "/tool 30 %", "/slow 8 %", "/long 450 %"]
      new.append(try write(kinds[Int.random(in: 0..<kinds.count, using: &random)], in: place))
    }
    try await breaking()
    try await waitForEnds(of: new, after: before)
  }

  /// Each place is written to once more.
  mutating func end() async throws {
    let last = try [Discord.general, Discord.direct].map { try write("note %", in: $0) }
    try await waitForEnds(of: last, after: nil)
  }

  private mutating func write(_ text: String, in place: String) throws -> Written {
    let one = Written(tag: "t\(written.count)t", place: place)
    written.append(one)
    try Discord.say(
      text.replacing("%", with: one.tag), isGuild: place == Discord.general, channel: place, to: discord)
    return one
  }

  /// Only paces: which end belongs to which message is found out when all is over.
  ///
  /// - Parameter before: notices that were there; nil: only answers count.
  private func waitForEnds(of messages: [Written], after before: Int?) async throws {
    do {
      try await withDeadline(patience, clock: ContinuousClock()) { [discord] in
        var pressed: Set<String> = []
        _ = await discord.wait { lines in
          let ledger = DiscordLedger(lines)
          // Where nothing proves whether the agent has it, the person decides.
          for question in ledger.texts {
            guard let drop = question.buttons.first(where: { $0.label == "Drop" }),
              pressed.insert(question.id).inserted
            else { continue }
            try? Discord.press(drop.id, of: question.id, channel: question.channel, at: discord)
          }
          let open = messages.count { DiscordAccount.end(of: $0, in: ledger) == nil }
          let reported = before.map { Self.notices(ledger) - $0 } ?? 0
          return open <= reported ? true : nil
        }
      }
    } catch is DeadlineExceeded {
      // The account says which.
    }
  }

  private static func notices(_ ledger: DiscordLedger) -> Int {
    ledger.texts.count { DiscordAccount.isNotice($0) }
  }
}
