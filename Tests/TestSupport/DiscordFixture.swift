import FoundationEssentials
package import RelayJSON
internal import RelayWire

/// The messages that people see at Discord, by its own account.
package struct DiscordLedger {
  package struct Shown {
    package var id: String
    package var channel: String
    package var text: String
    /// Only one person sees it.
    package var isPrivate: Bool
    /// By label, with what Discord calls it and its colour.
    package var buttons: [(label: String, id: String, style: Int)]
    package var files: [String]
  }

  package private(set) var texts: [Shown] = []
  package private(set) var identifies = 0
  package private(set) var resumes = 0
  package private(set) var pings = 0
  package private(set) var refusals = 0
  /// All that happened, in order.
  package private(set) var events: [JSONValue] = []

  package init(_ lines: [String]) {
    for line in lines.dropFirst() {
      guard let event = try? JSONCoding.decode(JSONValue.self, from: Array(line.utf8)) else { continue }
      events.append(event)
      switch event["happened"]?.stringValue {
      case "identify": identifies += 1
      case "resume": resumes += 1
      case "shown": show(event)
      case "removed": texts.removeAll { $0.id == event["id"]?.stringValue }
      case "429": refusals += 1
      default: break
      }
    }
  }

  private mutating func show(_ event: JSONValue) {
    let shown = Shown(
      id: event["id"]?.stringValue ?? "", channel: event["channel"]?.stringValue ?? "",
      text: event["text"]?.stringValue ?? "", isPrivate: event["private"] == true,
      buttons: list(event["buttons"]).map { button in
        let parts = list(button)
        return (parts[0].stringValue ?? "", parts[1].stringValue ?? "", Int("\(parts[2].number)") ?? 0)
      },
      files: list(event["files"]).compactMap { list($0).first?.stringValue })
    if let index = texts.firstIndex(where: { $0.id == shown.id }) { texts[index] = shown } else { texts.append(shown) }
    if event["pings"] != false { pings += 1 }
  }

  private func list(_ value: JSONValue?) -> [JSONValue] { if case .array(let list)? = value { list } else { [] } }

  /// The events of one kind.
  package func all(_ kind: String) -> [JSONValue] { events.filter { $0["happened"]?.stringValue == kind } }

  package func first(_ text: String) -> Shown? { texts.first { $0.text.contains(text) } }
}

extension JSONValue {
  fileprivate var number: Int { if case .integer(let number) = self { Int(number) } else { 0 } }
}

/// The real plugin at a Discord of the tests' own.
package enum Discord {
  package static let ann = "100000000000000001"
  package static let stranger = "100000000000000009"
  package static let direct = "500000000000000001"
  package static let general = "700000000000000001"
  package static let other = "600000000000000001"
  package static let guild = "800000000000000001"

  /// - Parameters:
  ///   - more: lines of the instance's configuration.
  ///   - top: other sections.
  ///   - sessions: settings of that section.
  ///   - prepare: called before the daemon starts.
  package static func run(
    _ more: String = "dms: true", top: String = "", sessions: String = "", token: String = "the-token",
    programs: Programs = .built, prepare: (PythonServer, RelayFixture) throws -> Void = { _, _ in },
    _ body: (PythonServer, RelayFixture) async throws -> Void
  ) async throws {
    try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
      let lines = more.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n")
      let config = """
        \(top)
        messengers:
          discord:
            default:
              token: \(token)
              api: http://127.0.0.1:\(discord.ports[1])
              auth: {users: ["\(ann)"]}
              channels: ["\(general)"]
              editIntervalMilliseconds: 50
        \(lines)
        """
      try await RelayFixture.run(config: config, sessions: sessions, programs: programs, startsDaemon: false) { relay in
        try prepare(discord, relay)
        try await relay.start()
        if token == "the-token" { _ = await discord.wait { DiscordLedger($0).identifies > 0 ? true : nil } }
        try await body(discord, relay)
      }
    }
  }

  package static func tell(_ command: JSONValue, _ discord: PythonServer) throws {
    try discord.tell(String(decoding: JSONCoding.encode(command), as: UTF8.self))
  }

  package static func say(
    _ text: String, id: String? = nil, by author: String = ann, as event: String = "MESSAGE_CREATE",
    isGuild: Bool = false, channel: String = direct, with more: [String: JSONValue] = [:], to discord: PythonServer
  ) throws {
    var said: [String: JSONValue] = more
    said["channel_id"] = .string(channel)
    said["content"] = .string(text)
    said["author"] = ["id": .string(author), "username": "ann"]
    if let id { said["id"] = .string(id) }
    if event == "MESSAGE_UPDATE" { said["edited_timestamp"] = "2026-11-22T10:00:00+00:00" }
    if isGuild { said["guild_id"] = .string(guild) }
    try tell(["do": "say", "event": .string(event), "message": .object(said)], discord)
  }

  /// Somebody uses a command, a button or a form.
  package static func interact(
    _ type: Int64, _ data: JSONValue, message: String? = nil, by user: String = ann, channel: String = direct,
    parent: String? = nil, at discord: PythonServer
  ) throws {
    let person: JSONValue = ["id": .string(user), "username": "ann"]
    var interaction: [String: JSONValue] = ["type": .integer(type), "data": data, "channel_id": .string(channel)]
    if channel == direct {
      interaction["user"] = person
    } else {
      interaction["guild_id"] = .string(guild)
      interaction["member"] = ["user": person, "roles": []]
    }
    if let message { interaction["message_id"] = .string(message) }
    if let parent {
      interaction["channel"] = ["id": .string(channel), "type": 11, "parent_id": .string(parent)]
    }
    try tell(["do": "interact", "interaction": .object(interaction)], discord)
  }

  package static func use(
    _ command: String, _ text: String? = nil, by user: String = ann, channel: String = direct, parent: String? = nil,
    at discord: PythonServer
  ) throws {
    let options: JSONValue = text.map { [["name": "text", "type": 3, "value": .string($0)]] } ?? []
    try interact(
      2, ["id": "1", "name": .string(command), "type": 1, "options": options], by: user, channel: channel,
      parent: parent, at: discord)
  }

  package static func press(
    _ button: String, of message: String, by user: String = ann, channel: String = direct, at discord: PythonServer
  ) throws {
    try interact(
      3, ["custom_id": .string(button), "component_type": 2], message: message, by: user, channel: channel,
      at: discord)
  }

  @discardableResult
  package static func waitForText(_ text: String, at discord: PythonServer) async -> DiscordLedger? {
    await wait(at: discord) { $0.texts.contains { $0.text.contains(text) } }
  }

  package static func wait(at discord: PythonServer, for isThere: (DiscordLedger) -> Bool) async -> DiscordLedger? {
    await discord.wait { lines in
      let ledger = DiscordLedger(lines)
      return isThere(ledger) ? ledger : nil
    }
  }
}
