/// A fault that `pi-bridge` reports to the person who called it.
package struct BridgeError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String

  /// The bridge does not answer in time.
  package static let timedOut = BridgeError("the session did not answer in time (--timeout)")

  package init(_ description: String) { self.description = description }
}
