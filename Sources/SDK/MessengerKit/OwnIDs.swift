internal import FoundationEssentials

/// Ids for messages to which the service gives none; no later process makes one of them again. A pure value but for its first
/// moment, which must differ from that of every other process.
public struct OwnIDs: Sendable {
  private let process = "\(UInt64(Date().timeIntervalSince1970 * 1_000))"
  private var count = 0

  public init() {}

  /// Another id.
  public mutating func next() -> String {
    count += 1
    return "\(process)-\(count)"
  }
}
