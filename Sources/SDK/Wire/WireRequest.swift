/// A request type of the protocol: its method name and what answers it.
public protocol WireRequest: Codable, Sendable {
  associatedtype Reply: Codable & Sendable
  static var method: String { get }
  /// The form of the answer, as the table of docs/plugin-protocol.md has it: for the author of one that is not understood.
  static var replyForm: String { get }
  /// Appends the parameters as JSON. Only what is sent many times a second does this by hand.
  func writeParams(to line: inout [UInt8]) throws
  /// Reads the answer out of its whole line.
  static func readReply(from line: UnsafeRawBufferPointer) throws -> Reply
  /// Reads parameters of the usual shape; nil leaves them to the general decoder, which says what is wrong with others.
  /// Only what comes many times a second is read by hand.
  static func readParams(_ params: UnsafeRawBufferPointer) -> Self?
  /// Appends an answer as JSON.
  static func writeReply(_ reply: Reply, to line: inout [UInt8]) throws
}

extension WireRequest {
  public func writeParams(to line: inout [UInt8]) throws {
    line += try JSONCoding.encode(self)
  }

  public static func readReply(from line: UnsafeRawBufferPointer) throws -> Reply {
    try JSONCoding.decode(ResultOf<Reply>.self, from: line).result
  }

  public static func readParams(_ params: UnsafeRawBufferPointer) -> Self? { nil }

  public static var replyForm: String { "an object" }

  public static func writeReply(_ reply: Reply, to line: inout [UInt8]) throws {
    line += try JSONCoding.encode(reply)
  }

  /// The parameters as JSON.
  package var encodedParams: [UInt8] {
    get throws {
      var params: [UInt8] = []
      try writeParams(to: &params)
      return params
    }
  }

  /// The whole request, newline included.
  package func line(id: Int64) throws -> [UInt8] {
    var line = Array(#"{"jsonrpc":"2.0","id":\#(id),"method":"\#(Self.method)","params":"#.utf8)
    try writeParams(to: &line)
    line += [UInt8(ascii: "}"), UInt8(ascii: "\n")]
    return line
  }
}

/// The answer of a request that has nothing to say but "done".
public struct Empty: Codable, Sendable, Equatable {
  public init() {}
}

extension WireRequest where Reply == Empty {
  public static var replyForm: String { "{}" }

  public static func readReply(from line: UnsafeRawBufferPointer) throws -> Empty { Empty() }

  public static func writeReply(_ reply: Empty, to line: inout [UInt8]) { line += "{}".utf8 }
}

// Receipts answer every change of a growing message: they are read where they stand.
extension WireRequest where Reply == Receipt {
  public static var replyForm: String { "{message: string}" }

  public static func readReply(from line: UnsafeRawBufferPointer) throws -> Receipt {
    if let message = ReceiptMembers(line).message { return Receipt(message: message) }
    return try JSONCoding.decode(ResultOf<Receipt>.self, from: line).result
  }

  public static func writeReply(_ reply: Receipt, to line: inout [UInt8]) {
    line += #"{"message":"#.utf8
    JSONText.quote(reply.message, into: &line)
    line.append(UInt8(ascii: "}"))
  }
}

extension MessageEdit {
  public static var replyForm: String { "{message?: string, putOff?: boolean}" }

  public static func readReply(from line: UnsafeRawBufferPointer) throws -> EditReceipt {
    let members = ReceiptMembers(line)
    if let message = members.message { return EditReceipt(message: message, putOff: members.putOff) }
    return try JSONCoding.decode(ResultOf<EditReceipt>.self, from: line).result
  }

  public static func writeReply(_ reply: EditReceipt, to line: inout [UInt8]) throws {
    guard let message = reply.message else {
      line += try JSONCoding.encode(reply)
      return
    }
    line += #"{"message":"#.utf8
    JSONText.quote(message, into: &line)
    if let putOff = reply.putOff { line += #","putOff":\#(putOff)"#.utf8 }
    line.append(UInt8(ascii: "}"))
  }
}

/// The decoder says why a result has another form.
private struct ReceiptMembers {
  var message: String?
  var putOff: Bool?

  init(_ line: UnsafeRawBufferPointer) {
    var cursor = JSONCursor(line)
    _ = cursor.members { key, cursor in
      guard key.equals("result") else { return true }
      return cursor.members { key, cursor in
        if key.equals("message") { message = cursor.text() }
        if key.equals("putOff") { putOff = cursor.flag() }
        return true
      }
    }
  }
}
