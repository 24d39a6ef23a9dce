internal import RelayWire

/// The unanswered requests of the other side, within the limits of the protocol. A pure value.
struct IncomingRequests {
  /// The bytes of each.
  private var open: [RequestID: Int] = [:]
  private var bytes = 0

  var isEmpty: Bool { open.isEmpty }

  /// - Returns: the refusal of a request that is not admitted.
  mutating func admit(_ id: RequestID, bytes count: Int) -> WireError? {
    if open[id] != nil { return WireError(.invalidRequest, "id is in use by an unanswered request") }
    guard open.count < ProtocolLimits.maximumRequestsInFlight, bytes + count <= ProtocolLimits.maximumBytesInFlight
    else { return WireError(.busy, "too many unanswered requests; send it again later") }
    open[id] = count
    bytes += count
    return nil
  }

  mutating func answered(_ id: RequestID) {
    if let count = open.removeValue(forKey: id) { bytes -= count }
  }
}
