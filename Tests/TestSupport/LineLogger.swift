package import Logging
internal import RelayLogging

extension Logger {
  /// A logger that gives every line to `write`, as a terminal is shown it: `discord/work: it ended`.
  package static func lines(_ write: @escaping @Sendable (String) -> Void) -> Logger {
    Logger(label: "test") { _ in LineLogHandler(write: write) }
  }
}

private struct LineLogHandler: LogHandler {
  let write: @Sendable (String) -> Void
  var metadata = Logger.Metadata()
  var metadataProvider: Logger.MetadataProvider?
  var logLevel = Logger.Level.trace

  init(write: @escaping @Sendable (String) -> Void) {
    self.write = write
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { $1 }
    write(LogLine(event.level, event.message.description, metadata: all.mapValues(\.description)).terminalText)
  }
}
