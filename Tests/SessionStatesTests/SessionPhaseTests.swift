import Testing

@testable import SessionStates

@Suite struct SessionPhaseTests {
  private static let all: [SessionPhase] = [
    .open, .shutdownAnnounced, .closing, .shuttingDown, .finished(forShutdown: false), .finished(forShutdown: true),
  ]

  private func next(_ phase: SessionPhase, _ event: SessionPhase.Event) -> SessionPhase {
    switch (phase, event) {
    case (.open, .closed): .closing
    case (.open, .shutdownAnnounced): .shutdownAnnounced
    case (.open, .shutDown): .shuttingDown
    case (.open, .workEnded): .finished(forShutdown: false)
    case (.shutdownAnnounced, .closed): .shuttingDown
    case (.shutdownAnnounced, .shutdownAnnounced): .shutdownAnnounced
    case (.shutdownAnnounced, .shutDown): .shuttingDown
    case (.shutdownAnnounced, .workEnded): .finished(forShutdown: true)
    case (.closing, .closed): .closing
    case (.closing, .shutdownAnnounced), (.closing, .shutDown): .shuttingDown
    case (.closing, .workEnded): .finished(forShutdown: false)
    case (.shuttingDown, .closed), (.shuttingDown, .shutdownAnnounced), (.shuttingDown, .shutDown): .shuttingDown
    case (.shuttingDown, .workEnded): .finished(forShutdown: true)
    case (.finished(false), .closed), (.finished(false), .workEnded): .finished(forShutdown: false)
    case (.finished(false), .shutdownAnnounced), (.finished(false), .shutDown): .finished(forShutdown: true)
    case (.finished(true), _): .finished(forShutdown: true)
    }
  }

  @Test(arguments: all, SessionPhase.Event.allCases)
  func `every event leads every phase to the one of the table`(phase: SessionPhase, event: SessionPhase.Event) {
    var after = phase
    after.take(event)
    #expect(after == next(phase, event))
    // A session that has closed never opens again, and what is left to the next daemon stays so.
    #expect(phase.isOpen || !after.isOpen)
    #expect(!phase.isForShutdown || after.isForShutdown)
  }
}
