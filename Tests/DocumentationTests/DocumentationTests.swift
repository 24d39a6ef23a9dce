import Approvals
import ControlServer
import FoundationEssentials
import PluginConformance
import RelayConfig
import RelayJSON
import RelayWire
import Testing

let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent()

func document(_ name: String) throws -> String {
  String(decoding: try Data(contentsOf: root.appending(path: name)), as: UTF8.self)
}

/// Every request of the protocol, as the code has it.
let requests: [any WireRequest.Type] = [
  InitializeRequest.self, Ping.self, Shutdown.self, MessageReceived.self, MessageEdited.self, MessageDeleted.self,
  CommandInvoked.self, CommandComplete.self, ActionInvoked.self, ReactionAdded.self, ConversationClosed.self,
  ConversationReopened.self, StateSave.self, ProblemReport.self, MessageSend.self, MessageEdit.self, MessageDelete.self,
  MessageLookup.self,
  MessageSettled.self, FileSend.self, DialogShow.self, DialogClose.self, TypingSet.self, CommandsChanged.self,
  ReactionSet.self, ThreadCreate.self, ConversationOpen.self, PresenceSet.self, FormatRender.self, FormatTool.self,
  AttachmentsPrepare.self,
  ControlAttach.self, SetupRequest.self, SetupSay.self, SetupAsk.self, CheckRequest.self,
]

private func decodes<Request: WireRequest>(_ type: Request.Type, _ line: [UInt8]) throws -> [String: JSONValue] {
  let params = try JSONCoding.decode(ParamsOf<Request>.self, from: line).params
  return try JSONCoding.decode(JSONValue.self, from: JSONCoding.encode(params)).objectValue ?? [:]
}

private func decodesReply<Request: WireRequest>(_ type: Request.Type, _ line: [UInt8]) throws {
  _ = try JSONCoding.decode(ResultOf<Request.Reply>.self, from: line)
}

@Suite struct DocumentationTests {
  /// The JSON lines of the specification.
  private func examples() throws -> [String] {
    let text = try document("docs/plugin-protocol.md")
    return text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("{\"jsonrpc\"") }
  }

  @Test func `every example is valid input for the code, without unknown members`() throws {
    var methods: [JSONValue: any WireRequest.Type] = [:]
    for line in try examples() {
      let bytes = Array(line.utf8)
      let value = try JSONCoding.decode(JSONValue.self, from: bytes)
      let id = try #require(value["id"])
      if let method = value["method"]?.stringValue {
        let type = try #require(requests.first { $0.method == method }, "\(method) is not known")
        methods[id] = type
        let read = try decodes(type, bytes)
        for (key, member) in value["params"]?.objectValue ?? [:] {
          #expect(read[key] == member, "\(method): \(key) is not read as documented")
        }
      } else {
        let type: any WireRequest.Type = try #require(methods[id])
        try decodesReply(type, bytes)
      }
    }
  }

  @Test func `every request of the code is documented`() throws {
    let text = try document("docs/plugin-protocol.md")
    for request in requests { #expect(text.contains("\"method\":\"\(request.method)\""), "\(request.method)") }
  }

  @Test func `the schema knows every request, its members and its answer`() throws {
    let schema = try JSONCoding.decode(JSONValue.self, from: Array(document("docs/plugin-protocol.schema.json").utf8))
    let described = schema["$defs"]?["requests"]?["oneOf"]?.arrayValue ?? []
    var members: [String: Set<String>] = [:]
    for request in described {
      let method = try #require(request["properties"]?["method"]?["const"]?.stringValue)
      members[method] = Set((request["properties"]?["params"]?["properties"]?.objectValue ?? [:]).keys)
    }
    #expect(Set(members.keys) == Set(requests.map { $0.method }))
    for line in try examples() {
      let value = try JSONCoding.decode(JSONValue.self, from: Array(line.utf8))
      guard let method = value["method"]?.stringValue else { continue }
      let used = Set((value["params"]?.objectValue ?? [:]).keys)
      #expect(used.isSubset(of: members[method] ?? []), "\(method)")
      #expect(schema["$defs"]?["results"]?[method] != nil)
    }
  }

  @Test func `every section that the plugin check refers to exists`() throws {
    let headings = Set(
      try document("docs/plugin-protocol.md").split(separator: "\n").filter { $0.hasPrefix("#") }
        .map { String($0.drop { $0 == "#" || $0 == " " }) })
    for section in ConformanceSuite.Section.allCases { #expect(headings.contains(section.rawValue), "\(section)") }
  }

  @Test func `the example configuration loads, and shows the defaults`() throws {
    let text = try document("docs/relay.example.yaml")
    let config = try ConfigReader(environment: [:]).read(Array(text.utf8), file: "relay.example.yaml").config
    let defaults = Config()
    #expect(config.sessions == defaults.sessions)
    #expect(config.restart == defaults.restart)
    #expect(config.logging == defaults.logging)
    #expect(config.shutdown == defaults.shutdown)
    #expect(config.pi == defaults.pi)
    #expect(config.assistant == defaults.assistant)
    #expect(config.approvals == defaults.approvals)
    #expect(config.delivery == defaults.delivery)
    #expect(config.storage == defaults.storage)
  }

  @Test func `the table of sections lists the settings that the reader knows`() throws {
    let page = try document("docs/configuration.md").components(separatedBy: "\n## ")
    let rows = try #require(page.first { $0.hasPrefix("Sections\n") }).matches(of: #/(?m)^\| `([a-z]+)` \| (.+) \|$/#)
    var listed: Set<String> = []
    for row in rows {
      for key in row.2.matches(of: #/`(\w+)`/#) {
        let text = "\(row.1): {\(key.1): [{}]}"
        do {
          _ = try ConfigReader(environment: [:]).read(Array(text.utf8), file: "relay.yaml")
        } catch {
          #expect(!"\(error)".contains("unknown key"), "\(error)")
        }
        listed.insert(String(key.1))
      }
    }
    let sources = try ["ConfigReader", "AssistantSettings", "ApprovalSettings"].map {
      try document("Sources/Supervisor/Config/\($0).swift")
    }
    let read = sources.joined().matches(
      of: #/\.(?:string|strings|stringMap|path|integer|number|flag|choice|patterns)\("(\w+)"/#)
    #expect(listed.count > 35 && read.count > 35)
    // The last two belong to one rule of `approvals`, not to the section.
    let elsewhere: Set = ["enabled", "id", "description"]
    #expect(Set(read.map { String($0.1) }).subtracting(listed).subtracting(elsewhere) == [])
  }

  @Test func `the page's example of approvals is read without a warning`() throws {
    let block = try document("docs/configuration.md").components(separatedBy: "```").first { $0.hasPrefix("yaml\n") }
    let text = try #require(block).dropFirst("yaml\n".count)
    let loaded = try ConfigReader(environment: [:]).read(Array(text.utf8), file: "relay.yaml")
    #expect(loaded.config.approvals.rules.map(\.id) == ["leaves-the-machine", "secrets"])
    #expect(loaded.config.approvals.isEnabled && loaded.warnings.isEmpty)
  }
}
