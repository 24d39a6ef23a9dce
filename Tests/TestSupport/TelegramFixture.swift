import FoundationEssentials
package import RelayJSON
internal import RelayWire

/// The messages that people see at Telegram, by its own account.
package struct TelegramLedger {
  package struct Shown {
    package var id: Int
    package var chat: Int
    package var topic: Int?
    package var text: String
    /// `rich`, `html` or `plain`; `photo` or `document` for a file.
    package var form: String
    /// The text with its markup.
    package var raw: String
    /// By label, with what Telegram calls it and its style.
    package var buttons: [(label: String, id: String, style: String)]
    /// The person's client asks for a reply.
    package var asks: Bool
    package var files: [String]
  }

  package private(set) var texts: [Shown] = []
  /// All that happened, in order.
  package private(set) var events: [JSONValue] = []

  package init(_ lines: [String]) {
    for line in lines.dropFirst() {
      guard let event = try? JSONCoding.decode(JSONValue.self, from: Array(line.utf8)) else { continue }
      events.append(event)
      switch event["happened"]?.stringValue {
      case "shown": show(event)
      case "removed":
        let (id, chat) = (number(event["id"]), number(event["chat"]))
        texts.removeAll { $0.id == id && $0.chat == chat }
      default: break
      }
    }
  }

  private mutating func show(_ event: JSONValue) {
    let shown = Shown(
      id: number(event["id"]), chat: number(event["chat"]), topic: event["topic"]?.integerValue.map { Int($0) },
      text: event["text"]?.stringValue ?? "", form: event["form"]?.stringValue ?? "",
      raw: event["raw"]?.stringValue ?? "",
      buttons: (event["buttons"]?.arrayValue ?? []).map { button in
        let parts = (button.arrayValue ?? []).map { $0.stringValue ?? "" }
        return (parts[0], parts[1], parts[2])
      },
      asks: event["asks"] == true,
      files: (event["files"]?.arrayValue ?? []).compactMap { $0.arrayValue?[0].stringValue })
    if let index = texts.firstIndex(where: { $0.id == shown.id && $0.chat == shown.chat }) {
      texts[index] = shown
    } else {
      texts.append(shown)
    }
  }

  private func number(_ value: JSONValue?) -> Int { Int(value?.integerValue ?? 0) }

  /// The events of one kind.
  package func all(_ kind: String) -> [JSONValue] { events.filter { $0["happened"]?.stringValue == kind } }

  package func first(_ text: String) -> Shown? { texts.first { $0.text.contains(text) } }
}

/// The real plugin at a Bot API server of the tests' own.
package enum Telegram {
  package static let ann = 1_001
  package static let stranger = 1_009
  package static let group = -500
  package static let forum = -1_001_000_000_001
  package static let token = "123456789:the-TOKEN_of-the-tests"
  /// The part of the token that nobody may see.
  package static let secret = "the-TOKEN"
  /// The smallest picture, one pixel, in base 64.
  package static let picture =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

  /// - Parameters:
  ///   - more: lines of the instance's configuration.
  ///   - prepare: called before the daemon starts.
  package static func run(
    _ more: String = "", sessions: String = "", token: String = token,
    prepare: (PythonServer, RelayFixture) throws -> Void = { _, _ in },
    _ body: (PythonServer, RelayFixture) async throws -> Void
  ) async throws {
    try await PythonServer.run("fake-telegram") { telegram in
      let lines = more.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n")
      let config = """
        messengers:
          telegram:
            default:
              token: \(token)
              baseURL: http://127.0.0.1:\(telegram.ports[0])
              auth: {users: ["\(ann)"]}
              editIntervalMilliseconds: 50
        \(lines)
        """
      try await RelayFixture.run(config: config, sessions: sessions, startsDaemon: false) { relay in
        try prepare(telegram, relay)
        try await relay.start()
        try await body(telegram, relay)
      }
    }
  }

  package static func tell(_ command: JSONValue, _ telegram: PythonServer) throws {
    try telegram.tell(String(decoding: JSONCoding.encode(command), as: UTF8.self))
  }

  /// Somebody writes.
  package static func say(
    _ text: String? = nil, by author: Int = ann, in chat: Int? = nil, with more: [String: JSONValue] = [:],
    to telegram: PythonServer
  ) throws {
    var message = more
    message["text"] = text.map { .string($0) }
    message["from"] = .integer(Int64(author))
    message["chat"] = .integer(Int64(chat ?? author))
    try tell(["do": "say", "message": .object(message)], telegram)
  }

  package static func press(
    _ button: String, of message: Int, by user: Int = ann, in chat: Int? = nil, at telegram: PythonServer
  ) throws {
    try tell(
      [
        "do": "press", "data": .string(button), "id": .integer(Int64(message)), "from": .integer(Int64(user)),
        "chat": .integer(Int64(chat ?? user)),
      ], telegram)
  }

  /// Lets the next requests that send or change fail; 0 does what is asked and hangs up.
  package static func fail(with statuses: [JSONValue], at telegram: PythonServer) throws {
    try tell(["do": "fail", "statuses": .array(statuses)], telegram)
  }

  @discardableResult
  package static func waitForText(_ text: String, at telegram: PythonServer) async -> TelegramLedger? {
    await wait(at: telegram) { $0.texts.contains { $0.text.contains(text) } }
  }

  @discardableResult
  package static func wait(
    at telegram: PythonServer, for isThere: (TelegramLedger) -> Bool
  ) async -> TelegramLedger? {
    await telegram.wait { lines in
      let ledger = TelegramLedger(lines)
      return isThere(ledger) ? ledger : nil
    }
  }
}
