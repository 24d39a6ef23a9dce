import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// Kills of pi in a terminal, and of the daemon that it has joined.
  @Suite(.enabled(if: PlayedPi.node != nil, "there is no Node 20 or later")) struct ExtensionCrashTests {
    /// A moment of a turn at which a process is killed.
    enum Moment: CaseIterable, Sendable {
      case turn, dialog, approval

      var message: String {
        switch self {
        case .turn: "answer on"
        case .dialog: "ask which colour?"
        case .approval: "call git push"
        }
      }
    }

    /// Has the conversation begin a turn, and waits for the moment.
    private func reach(_ moment: Moment, _ relay: RelayFixture) async throws -> [Button] {
      try await relay.messenger.say(moment.message, id: "1")
      guard moment == .turn else { return await relay.messenger.buttonsOfQuestion() }
      await relay.messenger.waitForText("Begun: on.")
      return []
    }

    /// Waits until what was asked is withdrawn, and presses its buttons.
    private func press(_ buttons: [Button], _ relay: RelayFixture) async throws {
      if !buttons.isEmpty { await relay.messenger.waitForText("✖ ") }
      for (number, button) in buttons.enumerated() {
        try await relay.messenger.press(button.id, id: "late \(number)")
      }
    }

    /// Says one more thing, and checks what was told of the first message, and that no call was made.
    private func expect(
      _ end: String, of moment: Moment, _ relay: RelayFixture, _ terminals: PlayedPi...
    ) async throws {
      try await relay.messenger.say("still there?", id: "2")
      #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      let texts = await relay.messenger.texts()
      #expect(texts.count { $0.hasPrefix("❌ \(end)") && $0.contains("it is not run again by itself") } == 1, "\(texts)")
      #expect(texts.count { $0.hasPrefix("❌") } == 1, "\(texts)")
      #expect(texts.count { $0.hasPrefix("✖") } == (moment == .turn ? 0 : 1), "\(texts)")
      #expect(texts.count { $0 == "You wrote: still there?" } == 1, "\(texts)")
      let lines = terminals.flatMap(\.lines.all)
      #expect(lines.count { $0 == #"{"message":"\#(moment.message)"}"# } == 1, "\(lines)")
      #expect(!lines.contains { $0.contains(#""verdict":"allowed""#) }, "\(lines)")
      #expect(await relay.messenger.questions.isEmpty)
    }

    @Test(arguments: Moment.allCases)
    func `a kill of pi is told once and approves nothing, and the next pi goes on`(_ moment: Moment) async throws {
      try await PlayedPi.run(approvals: PlayedPi.rules) { relay, pi in
        let buttons = try await reach(moment, relay)
        await pi.kill()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        let next = try PlayedPi(relay)
        do {
          try next.tell("start")
          await next.wait(for: #"{"status":"relay: "#)
          try await press(buttons, relay)
          try await expect("The agent ended unexpectedly", of: moment, relay, pi, next)
          #expect(!next.lines.all.contains { $0.contains("verdict") })
        } catch {
          await next.kill()
          throw error
        }
        await next.kill()
      }
    }

    @Test(arguments: Moment.allCases)
    func `a kill of the daemon is told once and approves nothing, and pi goes on`(_ moment: Moment) async throws {
      try await PlayedPi.run(approvals: PlayedPi.rules) { relay, pi in
        let buttons = try await reach(moment, relay)
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        try await press(buttons, relay)
        switch moment {
        case .turn:
          try pi.tell("release")
          await relay.messenger.waitForText("Begun: on.\nEnded.")
        case .dialog:
          // Asked again: pi still waits.
          try await relay.messenger.answer(pressing: "blue")
          await relay.messenger.waitForText("The model heard: blue")
        case .approval: await pi.wait(for: #""block":true"#)
        }
        try await expect("pi-relayd was restarted while the agent worked", of: moment, relay, pi)
      }
    }

    @Test func `a kill of the daemon while a call waits approves nothing`() async throws {
      try await PlayedPi.run(approvals: PlayedPi.rules) { relay, pi in
        try await relay.messenger.say("call git push", id: "1")
        _ = await relay.messenger.buttonsOfQuestion()
        try await relay.killAndStart()
        await pi.wait(for: #""block":true"#)
        #expect(!pi.lines.all.contains { $0.contains(#""verdict":"allowed""#) })
      }
    }

    @Test func `pi joins the next daemon by itself`() async throws {
      try await PlayedPi.run { relay, pi in
        try await relay.killAndStart()
        try await relay.messenger.say("after the crash", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("You wrote: after the crash")
      }
    }
  }
}
