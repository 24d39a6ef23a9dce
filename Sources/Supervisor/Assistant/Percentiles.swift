internal import RelayWire

/// The time within which a share of the answers came.
struct Percentiles: CustomStringConvertible {
  private let sorted: [Duration]

  init(_ durations: [Duration]) { sorted = durations.sorted() }

  /// - Parameter share: in percent.
  func at(_ share: Int) -> Duration {
    sorted.isEmpty ? .zero : sorted[(sorted.count - 1) * share / 100]
  }

  var description: String {
    let shares = [50, 95, 99].map { "p\($0) \(at($0).forPeople)" }
    return "\(sorted.count) answer(s), \(shares.joined(separator: ", "))"
  }
}
