import FoundationEssentials
import Testing

@testable import RelayModel

/// The table of a message's life as docs/architecture.md shows it, printed from the state machine.
private enum LifecycleTable {
  private static let circumstances: [(String, @Sendable (inout MessageLifecycle.Evidence) -> Void)] = [
    ("it may have been taken", { $0.mayHaveBeenTaken = true }),
    ("it was withdrawn", { $0.isWithdrawn = true }),
    ("a full queue does not refuse it", { $0.isAdmitted = true }),
    ("the agent failed to start before", { $0.failedStarts = 1 }),
    ("an agent exited before", { $0.attempts = 1 }),
    ("it is being stopped", { $0.interruption = .aborting }),
    ("the daemon stops", { $0.interruption = .shuttingDown }),
  ]

  private static func word(_ value: Any) -> String {
    "\(value)"
      .replacing("RelayModel.", with: "").replacing("MessageLifecycle.", with: "")
      .replacing("State.", with: "").replacing("Question.", with: "").replacing("Conclusion.", with: "")
      .replacing("Optional(Choice.", with: "(").replacing("TranscriptLookup.", with: "")
      .replacing("TranscriptPosition.", with: "").replacing("Choice.", with: "").replacing("((", with: "(")
      .replacing("))", with: ")")
  }

  /// The next state with what the owner stores and does.
  private static func outcome(
    _ state: MessageLifecycle.State, _ event: MessageLifecycle.Event,
    _ change: (inout MessageLifecycle.Evidence) -> Void = { _ in }
  ) -> String? {
    var evidence = MessageLifecycle.Evidence()
    change(&evidence)
    var life = MessageLifecycle(state, evidence)
    guard let reaction = life.take(event) else { return nil }
    var words = life.state == state ? "stays" : word(life.state)
    if let change = reaction.persist { words += ", stores \(word(change.stage))" }
    switch reaction.next {
    case .wait, .end, .ask, .leave, .startAgent, .lookUp, .prepare, .give: break
    case .record: words += ", stores dispatching until that succeeds"
    case .queueInFront: words += " in front"
    case .interrupt: words += ", ends the step under way"
    }
    if reaction.isTooLate { words += ", too late for the person" }
    return words
  }

  static var lines: [String] {
    var lines = ["| state | event | next |", "|---|---|---|"]
    for state in LifecycleSpace.states {
      for event in LifecycleSpace.events where event != .prepared(.unknown) {
        guard let usual = outcome(state, event) else { continue }
        let others = circumstances.compactMap { name, change in
          outcome(state, event, change).flatMap { $0 == usual ? nil : "where \(name): \($0)" }
        }
        lines.append("| \(word(state)) | \(word(event)) | \(([usual] + others).joined(separator: "; ")) |")
      }
    }
    return lines
  }
}

@Suite struct LifecycleTableTests {
  @Test func `the table in the architecture document is that of the state machine`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/message-lifecycle.md"), encoding: .utf8)
    let shown = page.split(separator: "\n").filter { $0.hasPrefix("|") }.map(String.init)
    let printed = LifecycleTable.lines
    #expect(shown == printed, "docs/message-lifecycle.md should show:\n\(printed.joined(separator: "\n"))")
  }
}
