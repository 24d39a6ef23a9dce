/// Settings of one session's bridge, as the person who runs the session has set them; `nil` members are the daemon's.
package struct BridgePreferences: Codable, Sendable, Equatable {
  /// An absolute path.
  package var bridgeDir: String?
  package var historyLimit: Int?
  package var maxEventBytes: Int?
  package var maxHistoryBytes: Int?
  package var maxHistoryResponseBytes: Int?
  package var eventPreviewBytes: Int?
  package var spillRawEvents: Bool?
  package var maxRawSpillBytes: Int?
  package var maxLineBytes: Int?
  package var heartbeatMs: Int?
  /// The session whose agent has begun this one, and the role that it gave.
  package var parentSessionId: String?
  package var childRole: String?

  package init() {}
}

extension BridgeLimits {
  /// The limits with a person's settings, each within its range.
  package func with(_ preferences: BridgePreferences?) -> BridgeLimits {
    guard let preferences else { return self }
    var limits = self
    func take(_ limit: WritableKeyPath<BridgeLimits, Int>, _ value: Int?, _ range: ClosedRange<Int>) {
      if let value { limits[keyPath: limit] = min(max(value, range.lowerBound), range.upperBound) }
    }
    take(\.historyLimit, preferences.historyLimit, 1...100_000)
    take(\.maxEventBytes, preferences.maxEventBytes, 256...1 << 20)
    take(\.maxHistoryBytes, preferences.maxHistoryBytes, 4_096...256 << 20)
    take(\.maxHistoryResponseBytes, preferences.maxHistoryResponseBytes, 4_096...16 << 20)
    take(\.eventPreviewBytes, preferences.eventPreviewBytes, 16...64 << 10)
    take(\.maxRawSpillBytes, preferences.maxRawSpillBytes, 4_096...1 << 30)
    take(\.maxLineBytes, preferences.maxLineBytes, 1_024...16 << 20)
    limits.spillRawEvents = preferences.spillRawEvents ?? spillRawEvents
    return limits
  }
}
