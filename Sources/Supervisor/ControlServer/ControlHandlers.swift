package import AgentExtension
package import PluginRuntime

extension ControlServer {
  /// The daemon's own part of the answers.
  package struct Handlers: Sendable {
    package let status: @Sendable () async -> DaemonStatus
    package let plugin: @Sendable (String, PluginRegistry.Change) async -> String?
    /// Answers the obstacle.
    package let revokeGrant: @Sendable (String) async -> String?
    package let reload: @Sendable () async -> [String]
    /// Answers what is in the way; where nothing is, it does not return.
    package let upgrade: @Sendable (String) async -> String
    package let stop: @Sendable () -> Void
    package let audience: any PluginEventHandler
    package let sessions: any SessionService
    package let pairing: any PairingService
    package let attachments: any SessionAttachments
    package let extensions: any ExtensionHost
    /// Processes of agents, with their sessions: their descendants may not command the daemon that supervises them.
    package let agents: @Sendable () async -> [Int32: String]
    /// An agent's processes may drive other sessions.
    package let agentsReachOthers: Bool

    package init(
      status: @escaping @Sendable () async -> DaemonStatus,
      plugin: @escaping @Sendable (String, PluginRegistry.Change) async -> String?,
      revokeGrant: @escaping @Sendable (String) async -> String?,
      reload: @escaping @Sendable () async -> [String],
      upgrade: @escaping @Sendable (String) async -> String,
      stop: @escaping @Sendable () -> Void,
      audience: any PluginEventHandler,
      sessions: any SessionService,
      pairing: any PairingService,
      attachments: any SessionAttachments,
      extensions: any ExtensionHost,
      agents: @escaping @Sendable () async -> [Int32: String],
      agentsReachOthers: Bool = false
    ) {
      self.status = status
      self.plugin = plugin
      self.revokeGrant = revokeGrant
      self.reload = reload
      self.upgrade = upgrade
      self.stop = stop
      self.audience = audience
      self.sessions = sessions
      self.pairing = pairing
      self.attachments = attachments
      self.extensions = extensions
      self.agents = agents
      self.agentsReachOthers = agentsReachOthers
    }
  }
}
