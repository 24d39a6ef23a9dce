package import Logging

/// The daemon's handler for swift-log: every logger of the daemon writes to its log file and to standard error.
package struct RelayLogHandler: LogHandler {
  package var metadata = Logger.Metadata()
  package var metadataProvider: Logger.MetadataProvider?
  private var ownLevel: Logger.Level?
  private let log: DaemonLog

  init(_ log: DaemonLog) {
    self.log = log
  }

  /// The log's level, which a reload may change at any time, unless this logger was given a level of its own.
  package var logLevel: Logger.Level {
    get { ownLevel ?? log.level }
    set { ownLevel = newValue }
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    var all = metadata
    if let provided = metadataProvider?.get() { all.merge(provided) { _, new in new } }
    if let given = event.metadata { all.merge(given) { _, new in new } }
    log.write(LogLine(event.level, event.message.description, metadata: all.mapValues(\.description)))
  }
}

extension DaemonLog {
  package var logger: Logger { Logger(label: "pi-relayd") { _ in RelayLogHandler(self) } }
}
