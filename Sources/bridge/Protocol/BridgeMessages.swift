package import RelayJSON
internal import RelayWire

/// The answer to one request.
package struct BridgeResponse: Sendable, Equatable {
  package var id: JSONValue?
  package var command: String?
  /// The answer's data, as JSON; `nil` for an answer without any.
  package var result: Result<[UInt8]?, BridgeRefusal>

  package init(id: JSONValue?, command: String?, _ result: Result<[UInt8]?, BridgeRefusal>) {
    self.id = id
    self.command = command
    self.result = result
  }

  /// The line, with its newline.
  package var line: [UInt8] {
    var object = JSONObjectText()
    object.add("type", "response")
    if let id { object.add("id", id) }
    if let command { object.add("command", command) }
    switch result {
    case .success(let data):
      object.add("success", true)
      if let data { object.add("data", json: data) }
    case .failure(let refusal):
      object.add("success", false)
      object.add("error", refusal.words)
    }
    return object.line
  }
}

/// An event as history keeps it and clients receive it.
package struct BridgeEnvelope: Sendable, Equatable {
  package var event: String
  /// ISO 8601 with milliseconds, in UTC.
  package var timestamp: String
  /// A JSON object.
  package var data: [UInt8]
  /// The size of the event as pi wrote it, where `data` is less than it.
  package var originalBytes: Int?
  /// The file that holds the whole event, and the event's number in it.
  package var raw: (path: String, ref: Int)?
  /// The reason for which the whole event is not kept or could not be read.
  package var rawError: String?
  /// Indicates that `data` is the whole event, read for this answer.
  package var isRestored = false

  package init(
    event: String, timestamp: String, data: [UInt8], originalBytes: Int? = nil, raw: (path: String, ref: Int)? = nil,
    rawError: String? = nil
  ) {
    self.event = event
    self.timestamp = timestamp
    self.data = data
    self.originalBytes = originalBytes
    self.raw = raw
    self.rawError = rawError
  }

  package static func == (left: Self, right: Self) -> Bool { left.json == right.json }

  /// The envelope without a newline.
  package var json: [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }

  package func append(to bytes: inout [UInt8]) {
    JSONObjectText.append(to: &bytes) { object in
      object.add("type", "event")
      object.add("event", event)
      object.add("timestamp", timestamp)
      object.add("data", json: data)
      if let originalBytes {
        object.add("truncated", true)
        object.add("originalBytes", originalBytes)
      }
      if let raw {
        object.add("rawEventPath", raw.path)
        object.add("rawEventRef", "\(raw.ref)")
      }
      if let rawError { object.add("rawError", rawError) }
      if isRestored { object.add("rawRestored", true) }
    }
  }
}

/// The lines that a bridge sends by itself.
package enum BridgeNotice {
  /// The first line of a connection.
  package static func hello(_ state: RegistryRecord) throws -> [UInt8] {
    var object = JSONObjectText()
    object.add("type", "bridge_hello")
    object.add("protocol", BridgeProtocol.version)
    object.add("state", json: try JSONCoding.encode(state))
    return object.line
  }

  /// The last line of a connection that the bridge closes.
  package static func stop(reason: String) -> [UInt8] {
    var object = JSONObjectText()
    object.add("type", "bridge_stop")
    object.add("reason", reason)
    return object.line
  }

  /// A fault of the bridge that a client may need to know of.
  package static func error(_ words: String, where place: String) -> [UInt8] {
    var object = JSONObjectText()
    object.add("type", "bridge_error")
    object.add("error", words)
    object.add("where", place)
    return object.line
  }
}

extension JSONObjectText {
  /// The object and a newline.
  package var line: [UInt8] { closed + [UInt8(ascii: "\n")] }
}
