internal import RelayTransport

/// A number of tries with growing pauses between them.
public struct Tries: Sendable, Equatable {
  private let count: Int
  private let first: Duration
  private let multiplier: Int
  private let maximumPause: Duration

  /// - Parameters:
  ///   - count: the number of tries, at least 1.
  ///   - first: the pause after the first try.
  ///   - multiplier: the factor by which the pause grows after each further try.
  ///   - maximumPause: the longest pause.
  public init(_ count: Int, first: Duration, multiplier: Int = 2, maximumPause: Duration = .seconds(600)) {
    self.count = count
    self.first = first
    self.multiplier = multiplier
    self.maximumPause = maximumPause
  }

  /// Tries until there is a result.
  ///
  /// - Parameter body: makes one try; returns `nil` where another try may help.
  /// - Returns: the result; `nil` when no try had one.
  /// - Throws: the error of `body`, which ends the tries, or `CancellationError`.
  public func run<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value?
  ) async throws -> Value? {
    var pause = first
    for number in 1...count {
      if let value = try await body() { return value }
      if number < count { try await LoopClock.shared.sleep(for: pause) }
      pause = min(pause * multiplier, maximumPause)
    }
    return nil
  }
}
