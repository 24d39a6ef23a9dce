/// The phase of a session's life. It takes work while it is open.
package enum SessionPhase: Sendable, Hashable {
  case open
  /// The daemon is about to stop: work that cannot begin any more is left to the next daemon.
  case shutdownAnnounced
  /// Waiting messages are dropped, and the run is stopped.
  case closing
  /// The daemon stops: messages stay as they are stored.
  case shuttingDown
  /// The loop of work has ended.
  case finished(forShutdown: Bool)

  package enum Event: Sendable, CaseIterable { case closed, shutdownAnnounced, shutDown, workEnded }

  package var isOpen: Bool { self == .open || self == .shutdownAnnounced }

  /// Messages are left to the next daemon.
  package var isForShutdown: Bool {
    switch self {
    case .open, .closing: false
    case .shutdownAnnounced, .shuttingDown: true
    case .finished(let forShutdown): forShutdown
    }
  }

  package var isFinished: Bool { if case .finished = self { true } else { false } }

  package mutating func take(_ event: Event) {
    self =
      switch event {
      case .workEnded: .finished(forShutdown: isForShutdown)
      case .closed: isFinished ? self : isForShutdown ? .shuttingDown : .closing
      case .shutdownAnnounced: isFinished ? .finished(forShutdown: true) : isOpen ? .shutdownAnnounced : .shuttingDown
      case .shutDown: isFinished ? .finished(forShutdown: true) : .shuttingDown
      }
  }
}
