package import AgentRuntime
package import AgentSessions
package import RelayConfig
package import RelayModel

/// The settings that sessions of one kind share: ordinary ones, or those of conversations with an assistant.
package struct SessionProfile: Sendable {
  package var pi: Config.Pi
  package var settings: Config.Sessions
  /// With the slots and the agent of this kind.
  package var dependencies: SessionDependencies
  /// How long a session keeps its transcript. `nil` keeps it indefinitely, in pi's own session directory.
  package var retention: @Sendable (SessionRecord) -> TranscriptRetention?

  package init(
    pi: Config.Pi, settings: Config.Sessions, dependencies: SessionDependencies,
    retention: @escaping @Sendable (SessionRecord) -> TranscriptRetention? = { _ in nil }
  ) {
    self.pi = pi
    self.settings = settings
    self.dependencies = dependencies
    self.retention = retention
  }
}
