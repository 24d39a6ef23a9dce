internal import DequeModule

/// The events of one session that clients may still ask for: which there are, not their contents.
package struct BridgeHistory: Sendable {
  package struct Entry: Sendable, Equatable {
    /// Counts from 1; the event's number in the file of whole events.
    package let ref: Int
    package let event: String
    /// Milliseconds since 1970.
    package let time: Int64
    /// Bytes of the envelope as clients see it by default.
    package let bytes: Int

    package init(ref: Int, event: String, time: Int64, bytes: Int) {
      self.ref = ref
      self.event = event
      self.time = time
      self.bytes = bytes
    }
  }

  /// The entries of an answer, oldest first.
  package struct Selection: Sendable, Equatable {
    package var entries: [Entry]
    /// Entries that the query allows, before the limit of bytes.
    package var total: Int
    /// Indicates that the limit of bytes has left some out.
    package var isTruncated: Bool

    package init(entries: [Entry], total: Int, isTruncated: Bool) {
      self.entries = entries
      self.total = total
      self.isTruncated = isTruncated
    }
  }

  private var entries: Deque<Entry> = []
  private var bytes = 0

  package init() {}

  /// Numbers of the events that are kept, oldest first.
  package var refs: [Int] { entries.map(\.ref) }

  /// Adds the newest event.
  ///
  /// - Returns: the entries that had to go for it.
  package mutating func append(_ entry: Entry, limits: BridgeLimits) -> [Entry] {
    entries.append(entry)
    bytes += entry.bytes
    var excess = max(0, entries.count - max(1, limits.historyLimit))
    var left = bytes - entries.prefix(excess).reduce(0) { $0 + $1.bytes }
    while limits.maxHistoryBytes > 0, left > limits.maxHistoryBytes, excess < entries.count - 1 {
      left -= entries[excess].bytes
      excess += 1
    }
    bytes = left
    defer { entries.removeFirst(excess) }
    return Array(entries.prefix(excess))
  }

  /// Filters by name and time, keeps the newest up to the limit of events, then the newest up to the limit of bytes. The
  /// newest is in the answer whatever its size.
  package func select(_ query: BridgeRequest.HistoryQuery, limits: BridgeLimits) -> Selection {
    let candidates = entries.filter { entry in
      (query.event == nil || entry.event == query.event) && entry.time >= query.since ?? .min
    }
    let limit = min(query.limit ?? limits.historyLimit, limits.historyLimit)
    let newest = candidates.suffix(max(1, limit))
    let maximumBytes = query.maxBytes ?? limits.maxHistoryResponseBytes
    var chosen = 0
    var size = 0
    for entry in newest.reversed() {
      guard chosen == 0 || maximumBytes <= 0 || size + entry.bytes <= maximumBytes else { break }
      chosen += 1
      size += entry.bytes
    }
    return Selection(
      entries: Array(newest.suffix(chosen)), total: newest.count, isTruncated: chosen < newest.count)
  }
}
