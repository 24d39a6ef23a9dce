internal import RelayConcurrency
internal import RelayTransport
internal import RelayWire

// What a plugin says that is not part of the protocol: for the log.
extension PluginInstance {
  /// Tells of what is not part of the protocol, up to a number.
  func violations(_ junk: Locked<String?>) -> @Sendable (JSONRPCConnection.ProtocolViolation) -> Void {
    let count = Locked(0)
    return { [log = dependencies.log, name] violation in
      if case .notProtocol(let beginning) = violation { junk.withLock { $0 = $0 ?? beginning } }
      let number = count.withLock { count in
        count += 1
        return count
      }
      guard number <= Self.mostViolationsTold else { return }
      log("\(name): \(Self.describe(violation))" + (number == Self.mostViolationsTold ? "; more is not told" : ""))
    }
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
