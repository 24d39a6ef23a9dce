internal import AgentRuntime
internal import AgentSessions
internal import Assistant
internal import Logging
internal import MessageRouting
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayHome
internal import RelayLogging
internal import SessionCatalog
internal import ToolApprovals

/// Takes what can change of the configuration while the daemon runs.
struct ConfigurationReload: Sendable {
  /// As it was at the start.
  let loaded: ConfigReader.Loaded
  let load: @Sendable () throws -> ConfigReader.Loaded
  let parts: DaemonParts
  let log: DaemonLog

  /// Reads the configuration again.
  ///
  /// - Returns: why it was not taken, in lines; none where it was.
  func run() async -> [String] {
    let logger = log.logger
    do {
      let new = try load()
      if let path = loaded.path, new.path == nil {
        throw HomeDirectory.Failure(description: "\(path) no longer exists")
      }
      log.level = new.config.logging.level.threshold
      for warning in new.warnings { logger.warning("\(warning)") }
      parts.secrets.withLock { $0.formUnion(new.config.secretVariables) }
      let later = Self.heldBack(loaded.config, new.config)
      if !later.isEmpty {
        logger.warning("these settings take effect at the next start: \(later.joined(separator: ", "))")
      }
      await parts.agents.forget()
      await parts.assistant.profile.dependencies.agents.forget()
      parts.hasApprovals.withLock { $0 = new.config.approvals.isEnabled }
      await parts.router.approvals.apply(new.config.approvals)
      await parts.plugins.apply(new)
      logger.notice("the configuration was read again")
      return []
    } catch {
      logger.error("the configuration was not applied: \(error)")
      return "\(error)".split(separator: "\n").map(String.init)
    }
  }

  /// Settings that have changed but are read only at the start.
  private static func heldBack(_ old: Config, _ new: Config) -> [String] {
    [
      ("machine", old.machine != new.machine), ("pi", old.pi != new.pi), ("sessions", old.sessions != new.sessions),
      ("assistant", old.assistant != new.assistant), ("restart", old.restart != new.restart),
      ("logging.maximumMegabytes", old.logging.maximumBytes != new.logging.maximumBytes),
      ("logging.keep", old.logging.keep != new.logging.keep),
      ("shutdown", old.shutdown != new.shutdown), ("storage", old.storage != new.storage),
      ("pairing", old.pairing != new.pairing), ("delivery", old.delivery != new.delivery),
      ("bridge", old.bridge != new.bridge),
    ].filter(\.1).map(\.0)
  }
}

extension Config.Logging.Level {
  var threshold: Logger.Level {
    switch self {
    case .debug: .debug
    case .info: .info
    case .notice: .notice
    case .warning: .warning
    case .error: .error
    }
  }
}
