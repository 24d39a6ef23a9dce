/// The settings of conversations with `use: assistant`: the tools of their sessions, and how long these remember.
extension Config {
  package struct Assistant: Sendable, Equatable {
    /// The agent, its provider and its model; nil: those of `pi`.
    package var executable: String?
    package var provider: String?
    package var model: String?
    /// Where the agents work, which is the folder of their own settings, extensions and keys too. Nil: where other
    /// sessions work, with the person's own settings.
    package var directory: String?
    /// Where what was said is kept; nil: in the home.
    package var sessionDirectory: String?
    /// The silence after which a conversation begins without a transcript. `nil` clears it after each message, except
    /// the owner's.
    package var sessionTimeout: Duration?
    /// A run that takes longer is stopped. Nil: no limit.
    package var callTimeout: Duration? = .seconds(180)
    /// How often what has timed out is removed. Nil: never.
    package var sweepInterval: Duration? = .seconds(60)
    /// Messages of all these conversations that wait.
    package var maximumQueued = 1_000
    /// Agents at work at once.
    package var workers = 4
    /// How often the agent is asked by itself whether there is something to tell the owner. Nil: never.
    package var heartbeatInterval: Duration?
    /// How often the log says how the assistant is doing. Nil: never.
    package var healthInterval: Duration? = .seconds(60)
    /// Of how many answers a conversation's latencies are reckoned.
    package var latencyWindow = 200
    /// The owner, by the messenger's id. The owner's direct messages keep their transcript even where `sessionTimeout`
    /// is `nil`, and findings of the heartbeat go to the owner.
    package var owner: String?

    /// Where no time is set, how long what is not needed any more may lie about.
    package static let leftoverTimeout: Duration = .seconds(1_800)

    static let seconds = 0...100_000_000
    static let queueSizes = 1...1_000_000
    static let workerCounts = 1...1_000
    static let windows = 1...100_000

    package init() {}

    init(_ group: SettingsReader) {
      executable = group.string("executable").map(ConfigReader.expandTilde)
      provider = group.string("provider")
      model = group.string("model")
      directory = group.path("directory")
      sessionDirectory = group.path("sessionDirectory")
      owner = group.string("owner")
      let seconds = Self.seconds
      if let value = group.integer("sessionTimeoutSeconds", in: seconds) { sessionTimeout = Self.duration(value) }
      if let value = group.integer("callTimeoutSeconds", in: seconds) { callTimeout = Self.duration(value) }
      if let value = group.integer("sweepSeconds", in: seconds) { sweepInterval = Self.duration(value) }
      if let value = group.integer("heartbeatSeconds", in: seconds) { heartbeatInterval = Self.duration(value) }
      if let value = group.integer("healthSeconds", in: seconds) { healthInterval = Self.duration(value) }
      if let value = group.integer("maximumQueued", in: Self.queueSizes) { maximumQueued = value }
      if let value = group.integer("workers", in: Self.workerCounts) { workers = value }
      if let value = group.integer("latencyWindow", in: Self.windows) { latencyWindow = value }
      group.refuseRest("assistant")
    }

    /// 0 switches off.
    private static func duration(_ seconds: Int) -> Duration? { seconds == 0 ? nil : .seconds(seconds) }
  }

  /// True when any conversation is an assistant's.
  package var hasAssistant: Bool {
    messengers.contains { messenger in
      messenger.enabled && messenger.conversations.values.contains { $0.use == .assistant }
    }
  }
}
