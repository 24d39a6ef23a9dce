internal import FoundationEssentials

/// Ids for messages to which the service gives none; no later process makes one of them again. They begin with the time in
/// milliseconds at which the value was made, which must differ from that of every other process.
public struct OwnIDs: Sendable {
  private let process = "\(UInt64(Date().timeIntervalSince1970 * 1_000))"
  private var count = 0

  public init() {}

  /// Makes another id, of about 15 to 20 ASCII characters.
  public mutating func next() -> String {
    count += 1
    return "\(process)-\(count)"
  }
}
