internal import ProcessSupervision
internal import RelayModel

/// The states of one plugin instance, from its first start to its removal.
///
/// A pure value without clock, process or store: its owner reports events and carries out the actions that each event
/// returns. `run` in the owner looks at `state` for its next step.
struct PluginLifecycle: Sendable, Equatable {
  enum State: Sendable, Equatable {
    /// No process; the next one is started when the pause is over.
    case backoff(Pause)
    /// A process is about to be started, or to be adopted.
    case starting(Start)
    /// The process runs and has not answered `initialize` yet.
    case handshaking
    case running
    /// The process was asked to end and has not ended yet.
    case stopping(StopReason)
    /// No process; the next call starts one.
    case asleep
    /// Final.
    case stopped
  }

  enum Start: Sendable, Equatable {
    case fresh
    /// A process inherited across `exec`. It is shown to the router first, and ended then if there is a reason.
    case adopted(ending: StopReason?)
  }

  /// The strings are part of the plugin protocol (`shutdown`).
  enum StopReason: String, Sendable { case replaced, stopped, idle }

  struct Pause: Sendable, Equatable {
    enum Cause: Sendable { case restart, failing, unconfigured, misconfigured }

    /// `nil`: until the configuration or the file changes.
    var until: Duration?
    var cause: Cause
    var problem: String
  }

  /// The way in which a process ended, or did not begin.
  enum Ending: Sendable, Equatable {
    /// - Parameters:
    ///   - why: text for people; not every plugin that does not run has ended by itself.
    ///   - worked: it answered a request or a ping.
    case failed(String, worked: Bool)
    /// The plugin refuses its settings.
    case misconfigured(String)
    /// The plugin has no settings, and needs some.
    case unconfigured(String)
  }

  enum Event: Sendable, Equatable {
    /// Begin another process at once: the configuration or the file has changed, or a person asks for it.
    case restart
    /// End for good.
    case stop
    /// An earlier daemon held the plugin back.
    case heldBack(Backoff, Int)
    /// The pause is over.
    case due(Int)
    /// Somebody calls a service that sleeps.
    case needed(Int)
    case spawned(Int)
    /// The handshake succeeded, or an adopted process is ready.
    case connected(Int)
    /// Nobody needs the plugin now.
    case idle(Int)
    /// - Parameter random: 0…1, for the delay.
    case ended(Ending, random: Double, Int)

    /// The process that the event is about; `nil`: whichever there is.
    var generation: Int? {
      switch self {
      case .restart, .stop: nil
      case .heldBack(_, let number), .due(let number), .needed(let number), .spawned(let number),
        .connected(let number), .idle(let number), .ended(_, _, let number):
        number
      }
    }
  }

  enum Action: Sendable, Equatable {
    /// Stop waiting, and look at the state.
    case wake
    /// Ask the process to end, and see to it.
    case end(StopReason)
    /// Store the backoff for the next daemon; `nil` removes it.
    case saveBackoff(Backoff?)
  }

  private(set) var state: State
  /// Counts processes; events of an earlier one are ignored.
  private(set) var generation = 1
  /// Since when the state, as people see it, has lasted.
  private(set) var since: Duration
  private(set) var restarts: Int
  private var history: RestartPolicy.History
  private var startedAt: Duration
  private let policy: RestartPolicy

  init(policy: RestartPolicy, at now: Duration) {
    self.init(.starting(.fresh), policy: policy, restarts: 0, history: .init(), at: now)
  }

  /// A process inherited across `exec`.
  ///
  /// - Parameter history: earlier ends, as ages.
  init(adopting history: RestartPolicy.History?, restarts: Int, policy: RestartPolicy, at now: Duration) {
    self.init(
      .starting(.adopted(ending: nil)), policy: policy, restarts: restarts,
      history: history?.flipped(at: now) ?? .init(), at: now)
  }

  private init(
    _ state: State, policy: RestartPolicy, restarts: Int, history: RestartPolicy.History, at now: Duration
  ) {
    self.state = state
    self.policy = policy
    self.restarts = restarts
    self.history = history
    since = now
    startedAt = now
  }

  mutating func handle(_ event: Event, at now: Duration) -> [Action] {
    if let number = event.generation, number != generation { return [] }
    switch event {
    case .restart: return restart(at: now)
    case .stop: return stop(at: now)
    case .heldBack(let backoff, _):
      guard case .starting(.fresh) = state else { return [] }
      history.failures = backoff.failures
      let wait = min(backoff.wait, policy.maximumDelay)
      guard wait > .zero else { return [] }
      let problem = "it failed \(backoff.failures) times before pi-relayd was started"
      enter(.backoff(Pause(until: now + wait, cause: .restart, problem: problem)), at: now)
    case .due: if case .backoff = state { begin(at: now) }
    case .needed: if state == .asleep { begin(at: now) }
    case .spawned: if state == .starting(.fresh) { state = .handshaking }
    case .connected:
      switch state {
      case .handshaking, .starting(.adopted(ending: nil)): enter(.running, at: now)
      case .starting(.adopted(let reason?)):
        state = .stopping(reason)
        return [.end(reason)]
      default: break
      }
    case .idle:
      guard state == .running else { return [] }
      state = .stopping(.idle)
      return [.end(.idle)]
    case .ended(let ending, let random, _): return ended(ending, random: random, at: now)
    }
    return []
  }

  private mutating func restart(at now: Duration) -> [Action] {
    switch state {
    case .stopped, .stopping(.stopped), .starting(.adopted(ending: .stopped)): return []
    default: break
    }
    let forgotten = forgetFailures()
    switch state {
    case .backoff, .asleep:
      begin(at: now)
      return forgotten + [.wake]
    case .handshaking, .running:
      state = .stopping(.replaced)
      return forgotten + [.end(.replaced)]
    case .starting(.adopted): state = .starting(.adopted(ending: .replaced))
    case .stopping: state = .stopping(.replaced)
    // The process is started from the specification of that moment.
    case .starting(.fresh): generation += 1
    case .stopped: break
    }
    return forgotten
  }

  private mutating func stop(at now: Duration) -> [Action] {
    switch state {
    case .backoff, .asleep:
      enter(.stopped, at: now)
      return [.wake]
    case .handshaking, .running:
      state = .stopping(.stopped)
      return [.end(.stopped)]
    case .starting(.adopted): state = .starting(.adopted(ending: .stopped))
    case .starting(.fresh): enter(.stopped, at: now)
    case .stopping: state = .stopping(.stopped)
    case .stopped: break
    }
    return []
  }

  private mutating func ended(_ ending: Ending, random: Double, at now: Duration) -> [Action] {
    switch state {
    case .stopping(.stopped), .starting(.adopted(ending: .stopped)): enter(.stopped, at: now)
    case .stopping(.replaced), .starting(.adopted(ending: .replaced)): begin(at: now)
    case .stopping(.idle), .starting(.adopted(ending: .idle)):
      enter(.asleep, at: now)
      if case .failed(_, worked: true) = ending { return forgetFailures() }
    case .starting, .handshaking, .running: return pause(after: ending, random: random, at: now)
    case .backoff, .asleep, .stopped: break
    }
    return []
  }

  private mutating func pause(after ending: Ending, random: Double, at now: Duration) -> [Action] {
    switch ending {
    case .unconfigured(let problem):
      enter(.backoff(Pause(until: nil, cause: .unconfigured, problem: problem)), at: now)
      return []
    case .misconfigured(let problem):
      enter(.backoff(Pause(until: nil, cause: .misconfigured, problem: problem)), at: now)
      return []
    case .failed(let why, let worked):
      restarts += 1
      let decision = policy.next(&history, now: now, uptime: now - startedAt, worked: worked, random: random)
      let cause: Pause.Cause = decision.failing ? .failing : .restart
      enter(.backoff(Pause(until: now + decision.delay, cause: cause, problem: why)), at: now)
      // The first restart is immediate: there is nothing to hold back.
      return [.saveBackoff(history.failures > 1 ? Backoff(failures: history.failures, wait: decision.delay) : nil)]
    }
  }

  private mutating func begin(at now: Duration) {
    generation += 1
    startedAt = now
    enter(.starting(.fresh), at: now)
  }

  private mutating func enter(_ new: State, at now: Duration) {
    state = new
    since = now
  }

  private mutating func forgetFailures() -> [Action] {
    guard history.failures > 0 else { return [] }
    history = RestartPolicy.History()
    return [.saveBackoff(nil)]
  }

  /// Earlier ends, as ages, for the next program: its clock may begin at another time. `nil` after a healthy time, which
  /// the next program cannot know of.
  func historyForHandover(at now: Duration) -> RestartPolicy.History? {
    now - since < policy.healthyAfter ? history.flipped(at: now) : nil
  }

  /// The problem that keeps the plugin from running.
  var problem: String? { if case .backoff(let pause) = state { pause.problem } else { nil } }

  /// The state in the words of `pi-relayd status`.
  ///
  /// - Parameter isConnected: the handshake has succeeded; a process that ends is shown as what it was before.
  func reported(isConnected: Bool) -> PluginStatus.State {
    switch state {
    case .backoff(let pause):
      switch pause.cause {
      case .restart: .waiting
      case .failing: .failing
      case .unconfigured: .unconfigured
      case .misconfigured: .misconfigured
      }
    case .starting, .handshaking: .starting
    case .running: .running
    case .stopping: isConnected ? .running : .starting
    case .asleep: .asleep
    case .stopped: .stopped
    }
  }
}

/// For the log.
extension PluginLifecycle.State: CustomStringConvertible {
  var description: String {
    switch self {
    case .backoff: "backoff"
    case .starting(.fresh): "starting"
    case .starting(.adopted(ending: nil)): "adopting"
    case .starting(.adopted(ending: let reason?)): "adopting (\(reason.rawValue))"
    case .handshaking: "handshaking"
    case .running: "running"
    case .stopping(let reason): "stopping (\(reason.rawValue))"
    case .asleep: "asleep"
    case .stopped: "stopped"
    }
  }
}
