package import RelayJSON
internal import RelayWire

/// The messages that people see at Slack, by its own account.
package struct SlackLedger {
  package struct Shown {
    package var id: String
    package var channel: String
    package var thread: String?
    package var text: String
    /// `markdown`, `mrkdwn`, `plain` or `stream`.
    package var form: String
    /// Only one person sees it.
    package var isPrivate: Bool
    package var isStreaming: Bool
    /// By label, with the value and the look.
    package var buttons: [(label: String, id: String, style: String)]
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
      case "removed": texts.removeAll { $0.id == event["id"]?.stringValue }
      default: break
      }
    }
  }

  private mutating func show(_ event: JSONValue) {
    let shown = Shown(
      id: event["id"]?.stringValue ?? "", channel: event["channel"]?.stringValue ?? "",
      thread: event["thread"]?.stringValue, text: event["text"]?.stringValue ?? "",
      form: event["form"]?.stringValue ?? "", isPrivate: event["private"] == true,
      isStreaming: event["streaming"] == true,
      buttons: (event["buttons"]?.arrayValue ?? []).map { button in
        let parts = (button.arrayValue ?? []).map { $0.stringValue ?? "" }
        return (parts[0], parts[1], parts[2])
      }, files: (event["files"]?.arrayValue ?? []).compactMap { $0.arrayValue?.first?.stringValue })
    if let index = texts.firstIndex(where: { $0.id == shown.id }) { texts[index] = shown } else { texts.append(shown) }
  }

  /// The events of one kind.
  package func all(_ kind: String) -> [JSONValue] { events.filter { $0["happened"]?.stringValue == kind } }

  package func first(_ text: String) -> Shown? { texts.first { $0.text.contains(text) } }
  package func count(_ text: String) -> Int { texts.count { $0.text.contains(text) } }
}

/// The real plugin at a Slack of the tests' own.
package enum Slack {
  package static let ann = "U0ANN"
  package static let stranger = "U0BOB"
  package static let direct = "D0ANN"
  package static let general = "C0GEN"

  /// - Parameters:
  ///   - more: lines of the instance's configuration.
  ///   - prepare: called before the daemon starts.
  package static func run(
    _ more: String = "", sessions: String = "", token: String = "xoxb-the-token",
    prepare: (PythonServer, RelayFixture) throws -> Void = { _, _ in },
    _ body: (PythonServer, RelayFixture) async throws -> Void
  ) async throws {
    try await PythonServer.run("fake-slack", with: PythonServer.python) { slack in
      let lines = more.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n")
      let config = """
        messengers:
          slack:
            default:
              token: \(token)
              appToken: xapp-the-token
              api: \(api(slack))
              auth: {users: [\(ann)]}
              channels: [\(general)]
              editIntervalMilliseconds: 50
        \(lines)
        """
      try await RelayFixture.run(config: config, sessions: sessions, startsDaemon: false) { relay in
        try prepare(slack, relay)
        try await relay.start()
        if token == "xoxb-the-token" { _ = await wait(at: slack) { !$0.all("connected").isEmpty } }
        try await body(slack, relay)
      }
    }
  }

  package static func api(_ slack: PythonServer) -> String { "http://127.0.0.1:\(slack.ports[1])/api" }

  package static func tell(_ command: JSONValue, _ slack: PythonServer) throws {
    try slack.tell(String(decoding: JSONCoding.encode(command), as: UTF8.self))
  }

  package static func say(
    _ text: String, ts: String? = nil, by user: String = ann, channel: String = direct, thread: String? = nil,
    mention: Bool = false, with more: [String: JSONValue] = [:], to slack: PythonServer
  ) throws {
    var said = more.merging([
      "do": "say", "channel": .string(channel), "text": .string(text), "user": .string(user),
      "mention": .bool(mention),
    ]) { $1 }
    if let ts { said["ts"] = .string(ts) }
    if let thread { said["thread_ts"] = .string(thread) }
    try tell(.object(said), slack)
  }

  package static func press(
    _ value: String, of message: SlackLedger.Shown, by user: String = ann, at slack: PythonServer
  ) throws {
    try tell(
      [
        "do": "press", "value": .string(value), "channel": .string(message.channel), "ts": .string(message.id),
        "user": .string(user),
      ], slack)
  }

  package static func fail(_ method: String, with answers: [JSONValue], at slack: PythonServer) throws {
    try tell(["do": "fail", "method": .string(method), "answers": .array(answers)], slack)
  }

  @discardableResult
  package static func waitForText(_ text: String, at slack: PythonServer) async -> SlackLedger? {
    await wait(at: slack) { $0.first(text) != nil }
  }

  @discardableResult
  package static func wait(at slack: PythonServer, for isThere: (SlackLedger) -> Bool) async -> SlackLedger? {
    await slack.wait { lines in
      let ledger = SlackLedger(lines)
      return isThere(ledger) ? ledger : nil
    }
  }
}
