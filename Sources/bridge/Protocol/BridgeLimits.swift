/// The protocol that bridge sockets speak: one JSON object a line, in both directions.
package enum BridgeProtocol {
  /// Sent in `bridge_hello`, in answers to `ping`, and in registry files.
  package static let version = "pi-session-bridge.v1"
}

/// Limits of one bridge. The initial values are the protocol's defaults.
package struct BridgeLimits: Sendable, Equatable {
  /// Events that history keeps.
  package var historyLimit = 500
  /// Bytes of an envelope's data; longer data becomes a description of its size.
  package var maxEventBytes = 8 * 1024
  /// Bytes of all envelopes that history keeps, as clients see them by default.
  package var maxHistoryBytes = 4 << 20
  /// Bytes of one `history` answer for clients that ask for no other limit.
  package var maxHistoryResponseBytes = 1 << 20
  /// Bytes of a `…Preview` field.
  package var eventPreviewBytes = 256
  /// Keeps whole events in a file, for `history --raw`.
  package var spillRawEvents = true
  /// Bytes of the file of whole events.
  package var maxRawSpillBytes = 16 << 20
  /// Bytes of one request.
  package var maxLineBytes = 1 << 20
  /// Unsent bytes of one client, before it is disconnected.
  package var maxUnsentBytes = 8 << 20

  package init() {}
}
