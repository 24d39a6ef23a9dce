internal import RelayJSON

/// A request type of the protocol: its method name and what answers it.
public protocol WireRequest: Codable, Sendable {
  /// The type of the result.
  associatedtype Reply: Codable & Sendable
  /// The name in the request's member `method`, for example `message.send`.
  static var method: String { get }
  /// The form of the answer, as the table of docs/plugin-protocol.md has it: for the author of one that is not understood.
  static var replyForm: String { get }
}

extension WireRequest {
  public static var replyForm: String { "an object" }

  /// The whole request, newline included.
  package func line(id: Int64) throws -> [UInt8] {
    try JSONCoding.encode(RequestLine(id: id, method: Self.method, params: self)) + [0x0A]
  }
}

private struct RequestLine<Params: Encodable>: Encodable {
  let jsonrpc = "2.0"
  let id: Int64
  let method: String
  let params: Params
}

/// The answer of a request without a result. Any JSON is read as it: the request was carried out, whatever the result
/// says.
public struct Empty: Codable, Sendable, Equatable {
  public init() {}
}

extension WireRequest where Reply == Empty {
  public static var replyForm: String { "{}" }
}

extension WireRequest where Reply == Receipt {
  public static var replyForm: String { "{message: string}" }
}

extension MessageEdit {
  public static var replyForm: String { "{message?: string, putOff?: boolean}" }
}
