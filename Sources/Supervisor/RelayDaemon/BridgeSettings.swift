internal import Bridge
internal import BridgeProtocol
internal import Logging
internal import RelayConfig

extension BridgeServer {
  /// The server of bridges as it is configured.
  ///
  /// - Returns: `nil` where bridges are switched off, or their folder cannot be used, which the log says.
  static func configured(
    _ settings: Config.Bridge, _ options: Daemon.Options, _ logger: Logger
  ) -> BridgeServer? {
    guard settings.enabled else { return nil }
    do throws(BridgeFolder.Failure) {
      return try BridgeServer(
        folder: BridgeFolder(configured: settings.directory, environment: options.environment),
        limits: BridgeLimits(settings), heartbeat: settings.heartbeat, hostName: Daemon.hostName,
        timeSource: options.timeSource, logger: logger)
    } catch {
      logger.warning("sessions have no bridges: \(error)")
      return nil
    }
  }
}

extension BridgeLimits {
  fileprivate init(_ settings: Config.Bridge) {
    self.init()
    historyLimit = settings.historyLimit
    maxEventBytes = settings.maximumEventBytes
    maxHistoryResponseBytes = settings.maximumHistoryResponseBytes
    eventPreviewBytes = settings.previewBytes
    spillRawEvents = settings.keepsWholeEvents
    maxRawSpillBytes = settings.maximumFileBytes
    maxLineBytes = settings.maximumLineBytes
  }
}
