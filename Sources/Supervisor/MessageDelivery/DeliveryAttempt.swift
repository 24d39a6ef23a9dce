internal import RelayConcurrency
package import RelayModel

/// One delivery from its first try to its end. It decides how often the delivery is tried, when its outcome is looked
/// up, and when the text is marked as a possible repeat.
///
/// A pure value without clock, store or connection: its owner carries out each action, and reports the result.
package struct DeliveryAttempt: Sendable, Equatable {
  /// The harm that a second try may do, and the time that may pass before it.
  package enum Kind: Sendable, CaseIterable {
    /// Shows something new, which a second try may show twice.
    case addition
    /// Gives a message its final text.
    case change
    /// Gives a message its text for now: the next change follows, instead of a wait.
    case growth
    /// Does the same however often it is done.
    case repeatable

    /// A plugin that fails over a change fails over it again, and a hang over it is as harmful as a crash.
    fileprivate var isChange: Bool { self == .change || self == .growth }

    /// A change that does not succeed within seconds is given up: the text can be sent as a message of its own.
    fileprivate var maximumWait: Duration { isChange ? .seconds(1) : .seconds(30) }
  }

  package enum State: Sendable, Equatable {
    case ready
    case inFlight
    /// The last try may have arrived.
    case unknown
    case waiting(Duration)
    case done
  }

  package enum Event: Sendable, Equatable {
    case begun
    case answered(Answer)
    case lookedUp(LookUp)
    case waited
  }

  /// The result of one try.
  package enum Answer: Sendable, Equatable {
    /// - Parameter message: its id on the platform, where there is one.
    case delivered(message: String? = nil)
    /// It did not arrive for a passing reason.
    case notDelivered
    /// It did not arrive, and the platform names the wait before the next try.
    case delayed(Duration)
    case connectionLost
    case timedOut
    /// The platform does not know whether it arrived.
    case unconfirmed
    /// The plugin failed before or after the platform had it.
    case failed(String)
    /// It arrived; the answer cannot be understood.
    case unreadable(String)
    /// The message that it concerns no longer exists.
    case gone(String)
    /// Another try would be answered the same.
    case refused(String)
  }

  package enum LookUp: Sendable, Equatable {
    case present(message: String)
    case absent
    case inconclusive
  }

  package enum Action: Sendable, Equatable {
    /// - Parameter marked: with the words that say that it may be a repeat.
    case send(marked: Bool)
    case lookUp
    case wait(Duration)
    /// Leaves it to a later attempt, which may begin after this time.
    case postpone(Duration)
    case succeed(message: String?, mayBeRepeat: Bool)
    case giveUp(Reason)

    package var isLast: Bool {
      switch self {
      case .postpone, .succeed, .giveUp: true
      case .send, .lookUp, .wait: false
      }
    }
  }

  package enum Reason: Sendable, Equatable, CustomStringConvertible {
    case refused(String)
    case gone(String)
    /// It arrived in a form that nobody knows, and cannot be changed any more.
    case unreadable(String)
    case crashes(Int)
    case triesUsedUp(Int)

    package var description: String {
      switch self {
      case .refused(let why), .gone(let why), .unreadable(let why): why
      case .crashes(let count): "it was set aside: the messenger exited or did not answer \(count) times over it"
      case .triesUsedUp(let count): "given up after \(count) tries"
      }
    }
  }

  package struct Limits: Sendable, Equatable {
    package var tries: Int
    /// Crashes of the messenger after which the request is taken to be their cause.
    package var crashes: Int

    package init(tries: Int, crashes: Int = 2) {
      self.tries = tries
      self.crashes = crashes
    }
  }

  package private(set) var state = State.ready
  /// The tries so far, and the wait before the next, for a successor of this daemon.
  package private(set) var tries: SendTries
  private let limits: Limits
  private let kind: Kind
  private var crashes = 0
  private var isMarked = false
  private var mustLookUp: Bool
  /// The reason why the last answer could not be understood.
  private var unreadable: String?

  /// - Parameters:
  ///   - tries: made by an earlier daemon.
  ///   - mayHaveArrived: the last of them may have succeeded.
  package init(
    _ kind: Kind, _ limits: Limits, after tries: SendTries = SendTries(), mayHaveArrived: Bool = false
  ) {
    self.kind = kind
    // A growing message is tried again in place only to tell whether it crashes its messenger.
    self.limits = kind == .growth ? Limits(tries: limits.crashes, crashes: limits.crashes) : limits
    self.tries = tries
    mustLookUp = mayHaveArrived && kind == .addition
  }

  /// - Returns: the action to carry out now; `nil` for an event that does not belong to the state, which changes nothing.
  package mutating func next(after event: Event) -> Action? {
    switch (state, event) {
    case (.ready, .begun): tries.wait > .zero ? wait(tries.wait) : proceed()
    case (.waiting, .waited): proceed()
    case (.inFlight, .answered(let answer)): takeAnswer(answer)
    case (.unknown, .lookedUp(let result)): takeLookUp(result)
    default: nil
    }
  }

  private mutating func proceed() -> Action {
    if mustLookUp {
      state = .unknown
      return .lookUp
    }
    guard tries.failed < limits.tries else { return endAttempt(.giveUp(.triesUsedUp(limits.tries))) }
    state = .inFlight
    return .send(marked: isMarked)
  }

  private mutating func takeAnswer(_ answer: Answer) -> Action {
    switch answer {
    case .delivered(let message): return endAttempt(.succeed(message: message, mayBeRepeat: isMarked))
    case .notDelivered where kind == .growth, .unconfirmed where kind == .growth:
      return endAttempt(.postpone(kind.maximumWait))
    case .delayed(let delay) where kind == .growth: return endAttempt(.postpone(delay))
    case .notDelivered: return tryAgain(after: backoff(tries.failed))
    case .delayed(let delay): return tryAgain(after: delay)
    case .refused(let why): return endAttempt(.giveUp(.refused(why)))
    case .gone(let why): return endAttempt(.giveUp(.gone(why)))
    case .failed(let why) where kind.isChange: return endAttempt(.giveUp(.refused(why)))
    // Any result of a request that adds nothing means that it was carried out.
    case .unreadable where kind != .addition: return endAttempt(.succeed(message: nil, mayBeRepeat: false))
    case .connectionLost: crashes += 1
    case .timedOut where kind.isChange: crashes += 1
    case .unreadable(let why): unreadable = why
    // The platform may be in doubt any number of times: only crashes are counted.
    case .timedOut, .unconfirmed, .failed: break
    }
    if crashes >= limits.crashes { return endAttempt(.giveUp(.crashes(crashes))) }
    // The wait for the next process of the messenger is enough.
    if kind.isChange, answer == .connectionLost { return tryAgain(after: .zero) }
    if kind != .addition { return tryAgain(after: backoff(tries.failed)) }
    tries = SendTries(failed: tries.failed + 1)
    mustLookUp = true
    return proceed()
  }

  private mutating func takeLookUp(_ result: LookUp) -> Action {
    mustLookUp = false
    switch result {
    case .present(let message): return endAttempt(.succeed(message: message, mayBeRepeat: false))
    case .absent: break
    case .inconclusive: isMarked = true
    }
    // It was sent in some form: once more would show it twice.
    if let unreadable, isMarked || tries.failed > 1 { return endAttempt(.giveUp(.unreadable(unreadable))) }
    unreadable = nil
    guard tries.failed < limits.tries, tries.failed > 1 else { return proceed() }
    return wait(backoff(tries.failed - 1))
  }

  private mutating func tryAgain(after delay: Duration) -> Action {
    tries = SendTries(failed: tries.failed + 1, wait: delay)
    return tries.failed < limits.tries ? wait(delay) : endAttempt(.giveUp(.triesUsedUp(limits.tries)))
  }

  private mutating func wait(_ delay: Duration) -> Action {
    state = .waiting(delay)
    return .wait(delay)
  }

  private mutating func endAttempt(_ action: Action) -> Action {
    state = .done
    return action
  }

  private func backoff(_ count: Int) -> Duration {
    ExponentialBackoff(from: .milliseconds(250), to: kind.maximumWait).wait(count)
  }
}
