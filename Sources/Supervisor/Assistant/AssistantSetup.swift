package import AgentRuntime
package import AgentSessions
package import RelayConfig
internal import RelayHome
internal import RelayModel
package import SessionCatalog

/// The assistant's settings, and the profile that they give its sessions: an agent, a folder, limits and slots of their own,
/// and a transcript that does not last.
package struct AssistantSetup: Sendable {
  package let settings: Config.Assistant
  package let profile: SessionProfile
  /// The directory with a transcript directory for each session.
  let root: String

  /// - Parameters:
  ///   - dependencies: those of other sessions.
  ///   - agents: finds the agent for a program, an environment being added to the daemon's.
  package init(
    _ config: Config, dependencies: SessionDependencies,
    agents: (_ configured: String?, _ environment: [String: String]) -> AgentResolver
  ) {
    let settings = config.assistant
    var pi = config.pi
    pi.executable = settings.executable ?? pi.executable
    pi.provider = settings.provider ?? pi.provider
    pi.model = settings.model ?? pi.model
    var sessions = config.sessions
    sessions.callTimeout = settings.callTimeout
    if let directory = settings.directory {
      sessions.directory = directory
      // Of these children alone: other sessions keep the person's own settings.
      pi.environment["PI_CODING_AGENT_DIR"] = directory
    }
    let root = settings.sessionDirectory ?? dependencies.home.assistantSessions
    var own = dependencies
    own.places = AgentSlots(
      maximum: settings.workers, maximumStarting: min(config.sessions.maximumStarting, settings.workers))
    own.agents = agents(pi.executable, pi.environment)
    self.settings = settings
    self.root = root
    profile = SessionProfile(pi: pi, settings: sessions, dependencies: own) { record in
      TranscriptRetention(
        folder: "\(root)/\(record.id)",
        span: settings.sessionTimeout.map { .idle($0) } ?? (record.role == .owner ? .kept : .oneMessage))
    }
  }

  /// After this time without a message a session that does not keep its transcript is no longer needed.
  var limit: Duration { settings.sessionTimeout ?? Config.Assistant.leftoverTimeout }
}
