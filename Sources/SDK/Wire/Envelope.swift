internal import RelayJSON

/// A JSON-RPC id. Ours are integers; a peer may use strings.
public enum RequestID: Hashable, Sendable, Codable {
  case integer(Int64)
  case string(String)

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let integer = try? container.decode(Int64.self) {
      self = .integer(integer)
    } else {
      self = .string(try container.decode(String.self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .integer(let integer): try container.encode(integer)
    case .string(let text): try container.encode(text)
    }
  }
}

/// The kind of JSON-RPC message that a line is: the cheap first look, made without decoding the rest.
public struct Envelope: Sendable, Equatable {
  /// The kinds of JSON-RPC messages, each with the members that tell where it belongs.
  public enum Kind: Sendable, Equatable {
    case request(id: RequestID, method: String)
    case notification(method: String)
    case result(id: RequestID)
    /// `id` is nil when the peer could not tell which request it answers.
    case failure(id: RequestID?)
  }

  /// The kind of the line that the envelope was read from.
  public let kind: Kind

  /// Nil when the line is not a JSON-RPC message.
  public init?(_ line: UnsafeRawBufferPointer) {
    var cursor = JSONCursor(line)
    var id: RequestID?
    var method: String?
    var hasResult = false
    var hasError = false
    let isObject = cursor.members { key, cursor in
      if key.equals("id") {
        id = Self.readID(&cursor)
      } else if key.equals("method") {
        method = cursor.text()
      } else if key.equals("result") {
        hasResult = true
      } else if key.equals("error") {
        hasError = true
      }
      return true
    }
    guard isObject, cursor.peek() == nil else { return nil }
    switch (id, method, hasResult, hasError) {
    case (let id?, let method?, _, _): kind = .request(id: id, method: method)
    case (nil, let method?, _, _): kind = .notification(method: method)
    case (let id, nil, _, true): kind = .failure(id: id)
    case (let id?, nil, true, false): kind = .result(id: id)
    default: return nil
    }
  }

  private static func readID(_ cursor: inout JSONCursor) -> RequestID? {
    if cursor.peek() == UInt8(ascii: "\"") { return cursor.text().map(RequestID.string) }
    let start = cursor.position
    guard cursor.skipValue() else { return nil }
    let digits = String(decoding: cursor.bytes[start..<cursor.position], as: UTF8.self)
    return Int64(digits).map(RequestID.integer)
  }
}

/// An answer with a result, without change to it.
public struct ResultLine<Reply: Encodable>: Encodable {
  /// The version of JSON-RPC.
  public let jsonrpc = "2.0"
  /// The id of the request that is answered.
  public let id: RequestID
  /// The result.
  public let result: Reply

  public init(id: RequestID, result: Reply) {
    self.id = id
    self.result = result
  }
}

/// An answer with an error, without change to it.
public struct FailureLine: Encodable {
  /// The version of JSON-RPC.
  public let jsonrpc = "2.0"
  /// The id of the request that is answered; `nil`, written as null, for a line that could not be read.
  public let id: RequestID?
  /// The error.
  public let error: WireError

  public init(id: RequestID?, error: WireError) {
    self.id = id
    self.error = error
  }

  public func encode(to encoder: any Encoder) throws {
    // JSON-RPC 2.0 §5: the id of an unreadable request is null, not absent.
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(jsonrpc, forKey: .jsonrpc)
    try container.encode(id, forKey: .id)
    try container.encode(error, forKey: .error)
  }

  private enum CodingKeys: String, CodingKey { case jsonrpc, id, error }
}

/// Reads the `result` of an answer; `jsonrpc` itself is not insisted on.
public struct ResultOf<Reply: Decodable>: Decodable {
  /// The member `result`.
  public let result: Reply
}

/// Reads the `error` of an answer.
public struct ErrorOf: Decodable {
  /// The member `error`.
  public let error: WireError
}

/// Reads the `params` of a request line.
public struct ParamsOf<Params: Decodable>: Decodable {
  /// The member `params`.
  public let params: Params
}
