internal import RelayTransport

/// A number of tries with growing pauses between them.
public struct Tries: Sendable, Equatable {
  private let most: Int
  private let first: Duration
  private let factor: Int
  private let longest: Duration

  /// - Parameters:
  ///   - most: the number of tries, at least 1.
  ///   - first: the pause after the first try.
  ///   - factor: the factor by which the pause grows after each further try.
  ///   - longest: the longest pause.
  public init(_ most: Int, first: Duration, factor: Int = 2, longest: Duration = .seconds(600)) {
    self.most = most
    self.first = first
    self.factor = factor
    self.longest = longest
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
    for number in 1...most {
      if let value = try await body() { return value }
      if number < most { try await LoopClock.shared.sleep(for: pause) }
      pause = min(pause * factor, longest)
    }
    return nil
  }
}
