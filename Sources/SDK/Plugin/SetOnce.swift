internal import RelayConcurrency

/// A value that is learned once, later than its owner is made.
public final class SetOnce<Value: Sendable>: Sendable {
  private let stored = Locked<Value?>(nil)

  public init() {}

  /// Keeps the first value; later ones change nothing.
  public func set(_ value: Value) { stored.withLock { $0 = $0 ?? value } }

  /// The value; `nil` before it is set.
  public var value: Value? { stored.withLock { $0 } }
}
