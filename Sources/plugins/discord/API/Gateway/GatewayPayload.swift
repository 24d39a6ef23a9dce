internal import MessengerKit
internal import RelayJSON
internal import RelayWire

/// One message of the gateway.
///
/// https://discord.com/developers/docs/events/gateway-events#payload-structure
struct GatewayPayload {
  enum Operation: Int {
    case dispatch = 0
    case heartbeat = 1
    case identify = 2
    case presence = 3
    case resume = 6
    case reconnect = 7
    case invalidSession = 9
    case hello = 10
    case heartbeatAcknowledged = 11
  }

  /// JSON without a number of what it is.
  struct Unreadable: Error {}

  var code: Int
  var data: JSONValue?
  var sequence: Int?
  var event: String?

  /// `nil` for an unknown message, which is skipped.
  var operation: Operation? { Operation(rawValue: code) }

  static func read(_ bytes: [UInt8]) throws -> GatewayPayload {
    let value = try JSONCoding.decode(JSONValue.self, from: bytes)
    guard let code = value["op"]?.intValue else { throw Unreadable() }
    return GatewayPayload(
      code: code, data: value["d"], sequence: value["s"]?.intValue,
      event: value["t"]?.stringValue)
  }

  static func text(_ operation: Operation, _ data: JSONValue) -> [UInt8] {
    JSONCoding.encode(["op": .integer(Int64(operation.rawValue)), "d": data] as JSONValue)
  }
}
