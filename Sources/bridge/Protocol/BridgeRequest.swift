package import RelayJSON
internal import RelayWire

/// A request of a bridge client.
package enum BridgeRequest: Sendable, Equatable {
  /// How a prompt reaches an agent that may be at work.
  package enum Delivery: String, Sendable, Equatable {
    /// At once to an idle agent, as steering to one at work.
    case auto
    case steer
    case followUp
    /// At once, even to an agent at work.
    case now
  }

  package struct Prompt: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
      case text(String)
      /// Blocks of text and images, as pi writes them.
      case blocks([JSONValue])
    }

    package var content: Content
    package var delivery: Delivery

    package init(content: Content, delivery: Delivery) {
      self.content = content
      self.delivery = delivery
    }
  }

  /// The events that a `history` request asks for.
  package struct HistoryQuery: Sendable, Equatable {
    package var limit: Int?
    /// Whole events in place of their summaries, as far as they are kept and fit.
    package var raw = false
    package var event: String?
    /// Milliseconds since 1970; events from then on.
    package var since: Int64?
    /// Bytes of the events of the answer.
    package var maxBytes: Int?

    package init(
      limit: Int? = nil, raw: Bool = false, event: String? = nil, since: Int64? = nil, maxBytes: Int? = nil
    ) {
      self.limit = limit
      self.raw = raw
      self.event = event
      self.since = since
      self.maxBytes = maxBytes
    }
  }

  case ping
  case state
  case commands
  case history(HistoryQuery)
  case questions
  case answer(requestID: String, answers: JSONValue)
  case reject(requestID: String)
  case emit(String)
  case subscribe(enabled: Bool)
  case prompt(Prompt)
  case abort
  case shutdown(confirmed: Bool)
}

/// A line of a client, parsed.
package struct BridgeCommand: Sendable, Equatable {
  /// Repeated in the answer unchanged.
  package let id: JSONValue?
  /// The verb that the answer names: aliases answer under their main name.
  package let name: String
  /// The request, or the words of its refusal.
  package let request: Result<BridgeRequest, BridgeRefusal>

  /// - Parameter line: without its newline.
  package init(line: UnsafeRawBufferPointer) {
    let value: JSONValue
    do {
      value = try JSONCoding.decode(JSONValue.self, from: line)
    } catch {
      self.init(id: nil, name: "parse", .failure(BridgeRefusal("SyntaxError: \(JSONCoding.explain(error))")))
      return
    }
    let type = value["type"]?.stringValue
    let verb = type.flatMap { Self.verbs[$0] }
    self.init(id: value["id"], name: verb ?? type ?? "unknown", Self.read(value, verb, type))
  }

  private init(id: JSONValue?, name: String, _ request: Result<BridgeRequest, BridgeRefusal>) {
    self.id = id
    self.name = name
    self.request = request
  }

  private static let verbs = [
    "ping": "ping", "get_state": "get_state", "state": "get_state", "get_commands": "get_commands",
    "commands": "get_commands", "history": "history", "questions": "questions", "question_list": "questions",
    "answer": "answer", "question_reply": "answer", "reject": "reject", "question_reject": "reject", "emit": "emit",
    "subscribe": "subscribe", "prompt": "prompt", "send": "prompt", "steer": "steer", "follow_up": "follow_up",
    "followUp": "follow_up", "abort": "abort", "shutdown": "shutdown",
  ]

  private static func read(_ value: JSONValue, _ verb: String?, _ type: String?) -> Result<BridgeRequest, BridgeRefusal>
  {
    switch verb {
    case "ping": .success(.ping)
    case "get_state": .success(.state)
    case "get_commands": .success(.commands)
    case "history": historyQuery(value)
    case "questions": .success(.questions)
    case "answer": requestID(value).map { .answer(requestID: $0, answers: value["answers"] ?? .null) }
    case "reject": requestID(value).map { .reject(requestID: $0) }
    case "emit": .success(.emit(value["message"]?.stringValue ?? "test"))
    case "subscribe": .success(.subscribe(enabled: value["enabled"]?.boolValue != false))
    case "prompt": prompt(value, unlessSaid: .auto)
    case "steer": prompt(value, unlessSaid: .steer)
    case "follow_up": prompt(value, unlessSaid: .followUp)
    case "abort": .success(.abort)
    case "shutdown": .success(.shutdown(confirmed: value["confirm"]?.boolValue == true))
    default: .failure(BridgeRefusal("Unknown command type: \(type ?? "<missing>")"))
    }
  }

  private static func prompt(
    _ value: JSONValue, unlessSaid delivery: BridgeRequest.Delivery
  ) -> Result<BridgeRequest, BridgeRefusal> {
    let content: BridgeRequest.Prompt.Content
    switch value["content"] ?? value["message"] {
    case .string(let text)?: content = .text(text)
    case .array(let blocks)?: content = .blocks(blocks)
    default: return .failure(BridgeRefusal("Expected string message or content array"))
    }
    let asked: BridgeRequest.Delivery? =
      switch (value["deliverAs"] ?? value["streamingBehavior"])?.stringValue {
      case "follow_up"?, "follow-up"?: .followUp
      case let word?: BridgeRequest.Delivery(rawValue: word)
      case nil: nil
      }
    return .success(.prompt(.init(content: content, delivery: asked ?? delivery)))
  }

  private static func requestID(_ value: JSONValue) -> Result<String, BridgeRefusal> {
    let text = (value["requestId"] ?? value["request_id"])?.stringValue?.trimmingWhitespace() ?? ""
    return text.isEmpty ? .failure(BridgeRefusal("Error: Expected requestId/request_id")) : .success(text)
  }

  private static func historyQuery(_ value: JSONValue) -> Result<BridgeRequest, BridgeRefusal> {
    var query = BridgeRequest.HistoryQuery(
      limit: positive(value["limit"]),
      raw: value["raw"]?.boolValue == true || value["verbose"]?.boolValue == true, event: nonEmpty(value["event"]),
      maxBytes: positive(value["maxBytes"] ?? value["max_bytes"]))
    if let since = nonEmpty(value["since"]) {
      guard let time = BridgeTimestamp.milliseconds(since) else {
        return .failure(
          BridgeRefusal("Error: since: \(since) is no ISO 8601 time; write it like 2026-05-21T08:00:00.000Z"))
      }
      query.since = time
    }
    return .success(.history(query))
  }

  /// A number, or a text that begins with one.
  private static func positive(_ value: JSONValue?) -> Int? {
    let number =
      switch value {
      case .integer(let integer)?: Int(exactly: integer)
      case .number(let number)?: Int(exactly: number.rounded(.down))
      case .string(let text)?: Int(text.trimmingWhitespace().prefix { $0.isASCII && $0.isNumber })
      default: Int?.none
      }
    return number.flatMap { $0 > 0 ? $0 : nil }
  }

  private static func nonEmpty(_ value: JSONValue?) -> String? {
    (value?.stringValue?.trimmingWhitespace()).flatMap { $0.isEmpty ? nil : $0 }
  }
}

/// The words in which a request is refused.
package struct BridgeRefusal: Error, Sendable, Equatable {
  package let words: String

  package init(_ words: String) { self.words = words }
}
