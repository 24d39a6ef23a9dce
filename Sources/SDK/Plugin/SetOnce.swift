internal import RelayConcurrency

/// A value that a plugin learns once, in `start`, and needs afterwards.
public final class SetOnce<Value: Sendable>: Sendable {
  private let stored = Locked<Value?>(nil)

  public init() {}

  /// Keeps the first value; later ones change nothing.
  public func set(_ value: Value) { stored.withLock { $0 = $0 ?? value } }

  /// The value; `nil` before it is set.
  public var value: Value? { stored.withLock { $0 } }

  /// The value, for what cannot be asked before `start`.
  ///
  /// - Throws: `WireError` before it is set.
  public func get() throws -> Value {
    guard let value else { throw WireError(.internalError, "the plugin has not started") }
    return value
  }
}
