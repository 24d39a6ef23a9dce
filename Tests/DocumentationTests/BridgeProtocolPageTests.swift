import BridgeProtocol
import RelayJSON
import RelayWire
import Testing

/// docs/bridge-protocol.md: its examples are read as the code reads them, and its lists are complete.
@Suite struct BridgeProtocolPageTests {
  private let text: String

  init() throws { text = try document("docs/bridge-protocol.md") }

  /// The lines of the examples of one side.
  private func examples(_ side: String) -> [String] {
    var lines: [String] = []
    var isInside = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") { isInside = line == "```json \(side)" } else if isInside { lines.append(String(line)) }
    }
    return lines
  }

  @Test func `every request of a client is understood as what it is`() throws {
    let lines = examples("client")
    #expect(lines.count >= 14)
    var names: Set<String> = []
    for line in lines {
      let command = Array(line.utf8).withUnsafeBytes { BridgeCommand(line: $0) }
      #expect(throws: Never.self) { try command.request.get() }
      names.insert(command.name)
    }
    // Each row of the table has an example.
    let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") && $0.split(separator: "|").count == 4 }
    let documented = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
    #expect(names.isSubset(of: documented))
    for name in ["ping", "get_state", "get_commands", "history", "questions", "answer", "reject", "emit", "subscribe"] {
      #expect(names.contains(name))
    }
    for name in ["prompt", "steer", "follow_up", "abort", "shutdown"] { #expect(names.contains(name)) }
  }

  @Test func `every line of a server has the members that the code writes`() throws {
    let lines = examples("server")
    #expect(lines.count >= 6)
    for line in lines {
      let value = try JSONCoding.decode(JSONValue.self, from: Array(line.utf8))
      switch value["type"] {
      case "bridge_hello":
        let state = try #require(value["state"])
        var encoded: [UInt8] = []
        state.write(to: &encoded, sorted: true)
        let record = try JSONCoding.decode(RegistryRecord.self, from: encoded)
        #expect(try JSONCoding.encode(record, sorted: true) == encoded)
      case "response": #expect(value["success"]?.boolValue == (value["error"] == nil))
      case "event":
        #expect(BridgeTimestamp.milliseconds(try #require(value["timestamp"]?.stringValue)) != nil)
        #expect(value["data"]?.objectValue != nil)
      case "bridge_stop": #expect(value["reason"]?.stringValue != nil)
      case "bridge_error": #expect(value["where"]?.stringValue != nil)
      default: Issue.record("a line of no known type: \(line)")
      }
    }
  }

  @Test func `the limits of the table are those of the code`() {
    let limits = BridgeLimits()
    for (name, value) in [
      ("events in the history", "\(limits.historyLimit)"),
      ("bytes of an event's data", "\(ByteCount(limits.maxEventBytes))"),
      ("bytes of a preview", "\(limits.eventPreviewBytes)"),
      ("bytes of a history answer", "\(ByteCount(limits.maxHistoryResponseBytes))"),
      ("bytes of one request", "\(ByteCount(limits.maxLineBytes))"),
      ("bytes of their file", "\(ByteCount(limits.maxRawSpillBytes))"),
      ("unsent bytes of a client, before it is disconnected", "\(ByteCount(limits.maxUnsentBytes))"),
    ] {
      let row = text.split(separator: "\n").first { $0.hasPrefix("| \(name) |") }
      #expect(row?.hasSuffix("| \(value) |") == true, "\(name): \(row ?? "there is no such row")")
    }
  }
}
