/// The status of a plugin instance, for `status` and `plugins`.
package struct PluginStatus: Sendable, Codable, Equatable {
  package enum State: String, Sendable, Codable {
    case starting, running, asleep, waiting, failing, unconfigured, misconfigured, disabled, stopped
  }

  package var name: String
  package var state: State
  package var path: String?
  package var version: String?
  package var kinds: [String]?
  package var pid: Int32?
  /// Seconds in this state.
  package var since: Double?
  package var restarts: Int
  /// The reason why it does not run or cannot work, in words.
  package var problem: String?

  package init(
    name: String, state: State, path: String? = nil, version: String? = nil, kinds: [String]? = nil, pid: Int32? = nil,
    since: Double? = nil, restarts: Int, problem: String? = nil
  ) {
    self.name = name
    self.state = state
    self.path = path
    self.version = version
    self.kinds = kinds
    self.pid = pid
    self.since = since
    self.restarts = restarts
    self.problem = problem
  }

  /// In a word for people: what runs and says that something is in its way does not simply run.
  package var health: String { state == .running && problem != nil ? "impaired" : state.rawValue }

  /// Only messengers have instances.
  package var isMessenger: Bool { name.contains("/") }

  /// It runs, or does as soon as it can.
  package var isToRun: Bool {
    switch state {
    case .starting, .running, .asleep, .waiting, .failing: true
    case .unconfigured, .misconfigured, .disabled, .stopped: false
    }
  }
}

/// The wait of a plugin that exits again and again.
package struct Backoff: Sendable, Equatable {
  /// Ends in a row.
  package var failures: Int
  /// Until its next start.
  package var wait: Duration

  package init(failures: Int, wait: Duration) {
    self.failures = failures
    self.wait = wait
  }
}
