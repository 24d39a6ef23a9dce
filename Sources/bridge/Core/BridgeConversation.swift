internal import BridgeProtocol
package import RelayJSON

/// Requests and answers over one connection, with the events that come between them.
package struct BridgeConversation {
  private let connection: BridgeConnection
  private var count = 0
  /// Called for every line that is no answer to the request that is waited for, with the line as it came.
  package var onEvent: (JSONValue, _ line: [UInt8]) -> Void = { _, _ in }

  package init(with path: String, until deadline: ContinuousClock.Instant) throws(BridgeError) {
    connection = try BridgeConnection(to: path, until: deadline)
  }

  /// Sends a request and waits for its answer.
  ///
  /// - Parameter request: an object; one without an id gets one.
  /// - Returns: the answer's line.
  package mutating func ask(
    _ request: JSONValue, until deadline: ContinuousClock.Instant
  ) throws(BridgeError) -> [UInt8] {
    count += 1
    var members = request.objectValue ?? [:]
    let id = members["id"] ?? .string("pi-bridge-\(count)")
    members["id"] = id
    var line: [UInt8] = []
    JSONValue.object(members).write(to: &line)
    try connection.send(line, until: deadline)
    while true {
      guard let line = try connection.nextLine(until: deadline) else {
        throw BridgeError("the session closed the connection before it answered")
      }
      guard let value = try? JSONCoding.decode(JSONValue.self, from: line) else { continue }
      if value["type"]?.stringValue == "response" {
        // A line that is too long or no JSON is refused without an id.
        if value["id"] == id || value["id"] == nil { return line }
      } else {
        onEvent(value, line)
      }
    }
  }

  /// Waits for the next line that the bridge sends by itself.
  ///
  /// - Parameter deadline: `nil` waits without a limit.
  /// - Returns: `nil` when the bridge has closed the connection.
  package func next(until deadline: ContinuousClock.Instant?) throws(BridgeError) -> [UInt8]? {
    try connection.nextLine(until: deadline)
  }
}
