internal import RelayWire

/// One message of the gateway.
///
/// https://discord.com/developers/docs/events/gateway-events#payload-structure
struct GatewayPayload: Decodable {
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

  private enum CodingKeys: String, CodingKey {
    case code = "op"
    case data = "d"
    case sequence = "s"
    case event = "t"
  }

  var code: Int
  var data: JSONValue?
  var sequence: Int?
  var event: String?

  /// Nil for one that we do not know, which is passed over.
  var operation: Operation? { Operation(rawValue: code) }

  static func read(_ bytes: [UInt8]) throws -> GatewayPayload {
    try JSONCoding.decode(GatewayPayload.self, from: bytes)
  }

  static func text(_ operation: Operation, _ data: JSONValue) throws -> [UInt8] {
    try JSONCoding.encode(["op": .integer(Int64(operation.rawValue)), "d": data] as JSONValue)
  }
}
