internal import BridgeProtocol
package import RelayJSON

/// Requests and answers over one connection, with the events that come between them.
package struct BridgeConversation {
  private let connection: BridgeConnection
  /// For each answer.
  private let limit: Duration?
  private var count = 0
  /// Called for every line that is no answer to the request that is waited for.
  package var onEvent: (JSONValue) -> Void = { _ in }
  /// The state that the bridge sent when the program connected.
  package private(set) var greeting: JSONValue?

  package init(with path: String, answersWithin limit: Duration?) throws(BridgeError) {
    connection = try BridgeConnection(to: path)
    self.limit = limit
  }

  /// Sends a request and waits for its answer.
  ///
  /// - Parameter request: an object; one without an id gets one.
  /// - Returns: the answer's line.
  package mutating func ask(_ request: JSONValue) throws(BridgeError) -> [UInt8] {
    count += 1
    var members = request.objectValue ?? [:]
    let id = members["id"] ?? .string("pi-bridge-\(count)")
    members["id"] = id
    var line: [UInt8] = []
    JSONValue.object(members).write(to: &line)
    try connection.send(line, within: limit)
    let deadline = limit.map { ContinuousClock.now + $0 }
    while true {
      guard let line = try connection.nextLine(within: deadline.map { max(.zero, $0 - .now) }) else {
        throw BridgeError("the session closed the connection before it answered")
      }
      guard let value = try? JSONCoding.decode(JSONValue.self, from: line) else { continue }
      if value["type"]?.stringValue == "response" {
        // A line that is too long or no JSON is refused without an id.
        if value["id"] == id || value["id"] == nil { return line }
      } else {
        note(value)
      }
    }
  }

  /// Waits for the next line that the bridge sends by itself.
  ///
  /// - Parameter limit: `nil` waits without a limit.
  /// - Returns: `nil` when the bridge has closed the connection.
  package mutating func next(within limit: Duration?) throws(BridgeError) -> [UInt8]? {
    guard let line = try connection.nextLine(within: limit) else { return nil }
    if greeting == nil, let value = try? JSONCoding.decode(JSONValue.self, from: line) { keepGreeting(value) }
    return line
  }

  private mutating func note(_ value: JSONValue) {
    keepGreeting(value)
    onEvent(value)
  }

  private mutating func keepGreeting(_ value: JSONValue) {
    if value["type"]?.stringValue == "bridge_hello" { greeting = value["state"] }
  }
}
