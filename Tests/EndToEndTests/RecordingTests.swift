import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayJSON
import RelayTransport
import RelayWire
import TestSupport
import Testing

/// The names in a line of JSON, in their order and nesting, without the values.
private struct Shape {
  private var cursor: JSONCursor

  /// The kind of a line: its type, the part that is updated, and whose message it is about.
  static func kind(_ line: [UInt8]) throws -> String {
    let value = try JSONCoding.decode(JSONValue.self, from: line)
    return [
      value["type"], value["command"], value["method"], value["assistantMessageEvent"]?["type"],
      value["message"]?["role"], value["message"]?["stopReason"], value["success"].map { .string("\($0)") },
    ].compactMap { $0?.stringValue }.joined(separator: " ")
  }

  static func of(_ line: [UInt8]) -> String {
    line.withUnsafeBytes { bytes in
      var shape = Shape(cursor: JSONCursor(bytes))
      return shape.read()
    }
  }

  private init(cursor: JSONCursor) { self.cursor = cursor }

  /// Arrays count as the set of their items' shapes; the arguments of tools are not compared.
  private mutating func read() -> String {
    switch cursor.peek() {
    case UInt8(ascii: "{"):
      var members: [String] = []
      let isWhole = cursor.members { key, cursor in
        let name = String(decoding: key, as: UTF8.self)
        var inner = Shape(cursor: cursor)
        members.append(["arguments", "args", "details"].contains(name) ? name : name + inner.read())
        return true
      }
      return isWhole ? "{" + members.joined(separator: ",") + "}" : "?"
    case UInt8(ascii: "["): return "[]"
    default: return ""
    }
  }
}

/// A talk with the fake agent, one prompt after another; its questions are answered.
private actor Conversation {
  private var lines: [String] = []
  private let arrived = Mailbox<String>()

  static func hold(_ prompts: [String], dialect: String, folder: String) async throws -> [String] {
    try await Conversation().hold(prompts, dialect: dialect, folder: folder)
  }

  private func hold(_ prompts: [String], dialect: String, folder: String) async throws -> [String] {
    let (child, pipes) = try ChildProcess.spawn(
      .init(
        name: "agent", path: Built.executable("pi-relay-demo-agent"),
        arguments: ["--mode", "rpc", "--dialect", dialect],
        environment: ["PI_CODING_AGENT_DIR": folder, "HOME": folder, "PATH": "/usr/bin:/bin"]), guardian: nil)
    let outbox = Outbox(descriptor: pipes.input, limit: 1 << 20)
    let reader = LineReader(
      descriptor: pipes.output, maximumLineLength: 1 << 20,
      handlers: .init(
        line: { [arrived] in
          if case .line(let bytes) = $0 { arrived.post(String(decoding: bytes, as: UTF8.self)) }
        },
        end: { [arrived] in arrived.close() }))
    try reader.start()
    func say(_ line: String) throws { try outbox.send(Array((line + "\n").utf8)) }
    for prompt in prompts {
      try say(#"{"id":"p","type":"prompt","message":"\#(prompt)"}"#)
      try say(#"{"id":"t","type":"get_session_stats"}"#)
      try say(#"{"id":"s","type":"get_state"}"#)
      while let line = await arrived.next() {
        lines.append(line)
        let value = try JSONCoding.decode(JSONValue.self, from: Array(line.utf8))
        if value["type"] == "extension_ui_request", let id = value["id"]?.stringValue {
          try say(#"{"type":"extension_ui_response","id":"\#(id)","value":"Red","confirmed":true}"#)
        }
        guard value["command"] == "get_state" else { continue }
        if value["data"]?["isStreaming"] == false { break }
        try say(#"{"id":"s","type":"get_state"}"#)
      }
    }
    outbox.finish()
    await child.tearDown([.wait(.seconds(10))], clock: ContinuousClock())
    while let line = await arrived.next() { lines.append(line) }
    _ = close(pipes.error)
    return lines
  }
}

extension EndToEnd.Messengers {
  /// The stand-in for pi says what the real program said when it was recorded.
  @Suite struct RecordingTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Transcripts")

    private func recorded(_ dialect: String) throws -> [String: Set<String>] {
      let folder = Self.folder.appending(path: dialect)
      var shapes: [String: Set<String>] = [:]
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
        for line in [UInt8](try Data(contentsOf: folder.appending(path: name))).split(separator: 0x0A).map(Array.init) {
          guard let kind = try? Shape.kind(line) else { continue }
          shapes[kind, default: []].insert(Shape.of(line))
        }
      }
      return shapes
    }

    @Test(arguments: ["current", "cumulative"])
    func `every line of the fake agent has the names of a recorded one, in their order`(dialect: String) async throws {
      let scratch = try TemporaryFolder()
      let said = try await Conversation.hold(
        ["hello", "/tool", "/fail", "/retry", "/select", "/confirm", "/image"], dialect: dialect,
        folder: scratch.path)
      let recorded = try recorded(dialect)
      for line in said {
        let bytes = Array(line.utf8)
        let kind = try Shape.kind(bytes)
        guard let known = recorded[kind] else {
          Issue.record("\(dialect): \(kind) was never recorded: \(line)")
          continue
        }
        #expect(known.contains(Shape.of(bytes)), "\(kind): \(Shape.of(bytes)) is none of \(known)")
      }
      #expect(said.count > 60)
    }
  }
}
