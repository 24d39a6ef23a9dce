package import Logging
package import ProcessSupervision
package import RelayConcurrency
package import RelayHome
package import RelayLogging
package import RelayStore

/// Services that all instances share.
package struct PluginDependencies: Sendable {
  package var home: HomeDirectory
  package var guardian: Guardian?
  package var environment: [String: String]
  package var store: SQLiteStore
  package var timeSource: TimeSource
  package var restart: RestartPolicy
  package var logLimits: LogFile.Limits
  package var audience: any PluginEventHandler
  package var logger: Logger
  /// The place of an instance's setting in the configuration file.
  package var locate: @Sendable (_ instance: String, _ path: String) -> String? = { _, _ in nil }

  package init(
    home: HomeDirectory, guardian: Guardian? = nil, environment: [String: String], store: SQLiteStore,
    timeSource: TimeSource, restart: RestartPolicy, logLimits: LogFile.Limits, audience: any PluginEventHandler,
    logger: Logger,
    locate: @escaping @Sendable (_ instance: String, _ path: String) -> String? = { _, _ in nil }
  ) {
    self.home = home
    self.guardian = guardian
    self.environment = environment
    self.store = store
    self.timeSource = timeSource
    self.restart = restart
    self.logLimits = logLimits
    self.audience = audience
    self.logger = logger
    self.locate = locate
  }

  /// The file for the standard error of one instance.
  func logFile(of instance: String) -> LogFile { LogFile(path: home.log(instance), limits: logLimits) }

  /// The logger of one instance.
  func logger(of instance: String) -> Logger { logger.with("instance", instance) }
}
