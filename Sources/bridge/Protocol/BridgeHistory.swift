/// The selection of the events that a `history` request is answered with.
package enum BridgeHistory {
  /// An event that clients may still ask for, without its contents.
  package struct Entry: Sendable, Equatable {
    /// Counts from 1; the event's number in the file of whole events.
    package let ref: Int
    package let event: String
    /// Milliseconds since 1970.
    package let time: Int64
    /// The place of its line in the file, in bytes.
    package let offset: Int64
    /// Bytes of the line, without its newline.
    package let length: Int

    package init(ref: Int, event: String, time: Int64, offset: Int64 = 0, length: Int = 0) {
      self.ref = ref
      self.event = event
      self.time = time
      self.offset = offset
      self.length = length
    }
  }

  /// Filters by name and time, and keeps the newest up to the limit of events.
  ///
  /// - Parameter entries: oldest first, as the result is.
  package static func candidates(
    among entries: [Entry], _ query: BridgeRequest.HistoryQuery, limits: BridgeLimits
  ) -> [Entry] {
    var kept = entries.suffix(max(1, limits.historyLimit))
    // As clients see them by default: a long event is a summary.
    var bytes = kept.reduce(0) { $0 + min($1.length, limits.maxEventBytes) }
    while bytes > limits.maxHistoryBytes, kept.count > 1 {
      bytes -= min(kept.removeFirst().length, limits.maxEventBytes)
    }
    let candidates = kept.filter { entry in
      (query.event == nil || entry.event == query.event) && entry.time >= query.since ?? .min
    }
    return candidates.suffix(max(1, min(query.limit ?? limits.historyLimit, limits.historyLimit)))
  }

  /// Keeps the newest up to the limit of bytes. The newest is in the answer whatever its size.
  ///
  /// - Parameters:
  ///   - candidates: oldest first.
  ///   - maximumBytes: zero or less: no limit.
  ///   - read: the envelope of an event and its size; asked for the newest first, and for no more than the answer needs.
  ///     `nil` for an event that cannot be read.
  /// - Returns: the envelopes, oldest first, and whether the limit has left some out.
  package static func newest<Envelope>(
    of candidates: [Entry], maximumBytes: Int, read: (Entry) throws -> (envelope: Envelope, bytes: Int)?
  ) rethrows -> (envelopes: [Envelope], isTruncated: Bool) {
    var chosen: [Envelope] = []
    var size = 0
    for entry in candidates.reversed() {
      guard let (envelope, bytes) = try read(entry) else { continue }
      guard chosen.isEmpty || maximumBytes <= 0 || size + bytes <= maximumBytes else {
        return (chosen.reversed(), true)
      }
      chosen.append(envelope)
      size += bytes
    }
    return (chosen.reversed(), false)
  }
}
