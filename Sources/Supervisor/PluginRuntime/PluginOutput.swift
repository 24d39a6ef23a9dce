internal import Logging
internal import RelayConcurrency
internal import RelayJSON
internal import RelayLogging
internal import RelayTransport
internal import RelayWire

/// Output of one plugin process outside the protocol: its log on standard error, and breaches of the protocol.
final class PluginOutput: Sendable {
  private struct State {
    var lastLines: [String] = []
    var firstNoise: String?
    var violations = 0
  }

  private let logger: Logger
  private let state = Locked(State())

  /// Breaches of the protocol that are logged of one process.
  static let maximumViolations = 20

  init(logger: Logger) {
    self.logger = logger
  }

  /// The last line on standard error.
  var lastLine: String? { state.withLock { $0.lastLines.last } }

  /// The first line on standard output that is no message of the protocol.
  var firstNoise: String? { state.withLock { $0.firstNoise } }

  /// Reads standard error into the plugin's log, whether or not anything else goes well.
  ///
  /// - Parameters:
  ///   - held: bytes that were read before.
  ///   - file: the plugin's log.
  func collect(_ descriptor: Int32, held: [UInt8], into file: LogFile) -> LineReader {
    let reader = LineReader(
      descriptor: descriptor, maximumLineLength: 64 * 1024, held: held, loop: .logs,
      handlers: .init(line: { [self] framed in
        switch framed {
        case .line(let bytes), .unfinished(let bytes):
          file.write(bytes)
          let words = String(decoding: bytes.prefix(300), as: UTF8.self)
          state.withLock { $0.lastLines = $0.lastLines.suffix(4) + [words] }
        case .tooLong(let length), .dismissed(let length): file.write("[a line of \(ByteCount(length)) was left out]")
        }
      }))
    do {
      try reader.start()
    } catch {
      logger.error("its log cannot be collected: \(error)")
      reader.close()
    }
    return reader
  }

  /// Logs a breach of the protocol, up to a number of them.
  func report(_ violation: JSONRPCConnection.ProtocolViolation) {
    let number = state.withLock { state in
      if case .notProtocol(let beginning) = violation { state.firstNoise = state.firstNoise ?? beginning }
      state.violations += 1
      return state.violations
    }
    guard number <= Self.maximumViolations else { return }
    let rest = number == Self.maximumViolations ? "; further ones are not logged" : ""
    logger.warning("\(Self.describe(violation))\(rest)")
  }

  private static func describe(_ violation: JSONRPCConnection.ProtocolViolation) -> String {
    switch violation {
    case .notProtocol(let beginning): "not a protocol line on its standard output: \(beginning.debugDescription)"
    case .tooLong(let bytes):
      "a line of \(ByteCount(bytes)) was skipped; the limit is \(ByteCount(ProtocolLimits.maximumLineLength))"
    case .unfinished(let bytes): "its output ended in the middle of a line (\(ByteCount(bytes)))"
    case .unknownAnswer: "an answer to no open request"
    case .ignoredNotification(let method): "the notification \(method) was ignored; the protocol has requests only"
    }
  }
}
