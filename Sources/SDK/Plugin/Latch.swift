internal import RelayPipes

/// A value that a plugin learns once, in `start`, and needs afterwards.
public final class Latch<Value: Sendable>: Sendable {
  private let stored = Locked<Value?>(nil)

  public init() {}

  public func set(_ value: Value) { stored.withLock { $0 = value } }

  public var value: Value? { stored.withLock { $0 } }
}
