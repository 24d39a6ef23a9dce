internal import FoundationEssentials

/// The times of the protocol: ISO 8601 in UTC with milliseconds, as `2026-05-21T08:00:00.000Z`.
package enum BridgeTimestamp {
  /// - Parameter milliseconds: since 1970.
  package static func text(_ milliseconds: Int64) -> String {
    // Half a millisecond more: the style cuts, and a fraction is rarely exact.
    Date(timeIntervalSince1970: (Double(milliseconds) + 0.5) / 1_000).formatted(
      Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  /// Milliseconds since 1970; `nil` for text that is no ISO 8601 time. Any offset and precision is read.
  package static func milliseconds(_ text: String) -> Int64? {
    let styles = [true, false].map { Date.ISO8601FormatStyle(includingFractionalSeconds: $0) }
    let date = styles.lazy.compactMap { try? $0.parse(text) }.first
    return date.map { Int64(($0.timeIntervalSince1970 * 1_000).rounded()) }
  }
}
