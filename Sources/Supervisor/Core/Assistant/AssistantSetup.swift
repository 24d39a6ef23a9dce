package import AgentRuntime
package import RelayConfig
internal import RelayHome
internal import RelayModel
internal import RelayStore

/// What sessions of assistants have of their own: an agent, a folder, limits, and a memory that does not last.
package struct AssistantSetup: Sendable {
  package let settings: Config.Assistant
  let pi: Config.Pi
  let sessions: Config.Sessions
  let surroundings: SessionSurroundings
  /// Where what is said to them is kept.
  let root: String

  /// - Parameters:
  ///   - surroundings: those of other sessions.
  ///   - agents: finds the agent for a program, an environment being added to the daemon's.
  package init(
    _ config: Config, surroundings: SessionSurroundings,
    agents: (_ configured: String?, _ environment: [String: String]) -> AgentChoice
  ) {
    settings = config.assistant
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
    self.pi = pi
    self.sessions = sessions
    root = settings.sessionDirectory ?? surroundings.folders.assistantSessions
    var own = surroundings
    own.places = SessionPlaces(
      maximum: settings.workers, maximumStarting: min(config.sessions.maximumStarting, settings.workers))
    own.agents = agents(pi.executable, pi.environment)
    self.surroundings = own
  }

  /// Nil for a session that is no assistant's.
  func memory(of record: SessionRecord) -> SessionMemory? {
    switch record.role {
    case nil: nil
    case .assistant:
      SessionMemory(folder: folder(record.id), span: settings.sessionTimeout.map { .idle($0) } ?? .oneMessage)
    case .owner: SessionMemory(folder: folder(record.id), span: settings.sessionTimeout.map { .idle($0) } ?? .kept)
    }
  }

  /// After how long without a message a session that does not keep what was said is no longer needed.
  var limit: Duration { settings.sessionTimeout ?? Config.Assistant.leftoverTimeout }

  private func folder(_ session: String) -> String { "\(root)/\(session)" }
}
