package import AgentRuntime
package import Logging
internal import PiRPC
package import ProcessSupervision
package import RelayConcurrency
package import RelayHome
package import RelayLogging
package import RelayModel
package import RelayStore
internal import RelayText
package import SessionStates

/// Dependencies that all sessions share.
package struct SessionDependencies: Sendable {
  package var home: HomeDirectory
  package var guardian: Guardian?
  package var environment: [String: String]
  package var store: SQLiteStore
  package var timeSource: TimeSource
  package var logLimits: LogFile.Limits
  package var places: AgentSlots
  package var agents: AgentResolver
  package var prepare: @Sendable (Prompt) async -> PreparedPrompt
  package var logger: Logger
  /// A person's words as they are repeated to people: one line of so many characters, redacted before it is cut.
  package var quote: @Sendable (_ words: String, _ limit: Int) -> String = { TextSanitizer.line($0, limit: $1) }
  /// Environment variables that agents must not see.
  package var secretVariables: @Sendable () -> Set<String> = { [] }
  /// The extension that agents run with.
  package var agentExtension = ExtensionChoice.missing("it is not installed; set pi.extension to its folder")
  /// Tool calls of agents may have to wait for a person.
  package var hasApprovals: @Sendable () -> Bool = { false }
  /// Follows the agents' processes; `nil` where nobody does.
  package var agentObserver: (any AgentObserver)?

  package init(
    home: HomeDirectory, guardian: Guardian? = nil, environment: [String: String], store: SQLiteStore,
    timeSource: TimeSource, logLimits: LogFile.Limits, places: AgentSlots, agents: AgentResolver,
    prepare: @escaping @Sendable (Prompt) async -> PreparedPrompt, logger: Logger,
    quote: @escaping @Sendable (_ words: String, _ limit: Int) -> String = { TextSanitizer.line($0, limit: $1) },
    secretVariables: @escaping @Sendable () -> Set<String> = { [] }
  ) {
    self.home = home
    self.guardian = guardian
    self.environment = environment
    self.store = store
    self.timeSource = timeSource
    self.logLimits = logLimits
    self.places = places
    self.agents = agents
    self.prepare = prepare
    self.logger = logger
    self.quote = quote
    self.secretVariables = secretVariables
  }
}
