import FoundationEssentials
internal import RelayJSON
internal import RelayWire

/// The session on disk, kept as pi keeps it: nothing before the first answer, then one line an entry.
struct SessionFile {
  let id: String
  let path: String?
  private var entries: [OrderedJSON] = []
  /// Of the entries, in the same order.
  private var ids: [String] = []
  private(set) var messageCount = 0
  private(set) var counts = Counts()
  private var written = 0
  private var persists = false

  /// The answer to `get_session_stats`. There is no model that would count tokens: four bytes are taken for one.
  struct Counts {
    private(set) var userMessages = 0
    private(set) var assistantMessages = 0
    private(set) var toolResults = 0
    private(set) var inputTokens = 0
    private(set) var outputTokens = 0

    var tokens: Int { inputTokens + outputTokens }

    mutating func add(_ role: String, bytes: Int) {
      switch role {
      case "user": userMessages += 1
      case "assistant": assistantMessages += 1
      default: toolResults += 1
      }
      if role == "assistant" { outputTokens += bytes / 4 } else { inputTokens += bytes / 4 }
    }
  }

  private struct Stored: Decodable {
    struct Message: Decodable { var role: String }
    var type: String
    var id: String?
    var message: Message?
  }

  init(options: AgentOptions, environment: [String: String], directory: String) {
    id = options.sessionID ?? UUID().uuidString.lowercased()
    guard options.keepsSession else {
      path = nil
      return
    }
    if let file = options.sessionFile {
      path = file
    } else {
      let root =
        options.sessionFolder
        ?? (environment["PI_CODING_AGENT_DIR"] ?? (environment["HOME"] ?? "/tmp") + "/.pi/agent") + "/sessions/--"
        + directory.split(separator: "/").joined(separator: "-") + "--"
      path = Self.existing(in: root, id: id) ?? "\(root)/\(Self.stamp())_\(id).jsonl"
    }
    load()
  }

  private static func existing(in folder: String, id: String) -> String? {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.first { $0.hasSuffix("_\(id).jsonl") }.map { "\(folder)/\($0)" }
  }

  private static func stamp() -> String {
    Date().formatted(.iso8601).replacing(":", with: "-")
  }

  private mutating func load() {
    guard let path, let data = FileManager.default.contents(atPath: path) else { return }
    for line in data.split(separator: 0x0A) {
      guard let stored = try? JSONCoding.decode(Stored.self, from: Array(line)), let entry = stored.id,
        stored.type != "session"
      else { continue }
      entries.append(.raw(String(decoding: line, as: UTF8.self)))
      ids.append(entry)
      if let message = stored.message {
        messageCount += 1
        counts.add(message.role, bytes: line.count)
      }
    }
    persists = !entries.isEmpty
    written = entries.count
  }

  /// Adds a message. The first assistant's makes the file.
  mutating func append(role: String, message: OrderedJSON) throws {
    let entry = String(UUID().uuidString.lowercased().prefix(8))
    entries.append([
      "type": "message", "id": .string(entry), "parentId": lastEntry.map(OrderedJSON.string) ?? .null,
      "timestamp": .string(Date().formatted(.iso8601)), "message": message,
    ])
    ids.append(entry)
    messageCount += 1
    counts.add(role, bytes: message.text.utf8.count)
    if role == "assistant" { persists = true }
    try write()
  }

  private mutating func write() throws {
    guard let path, persists, written < entries.count else { return }
    var text = ""
    if !FileManager.default.fileExists(atPath: path) {
      let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let header: OrderedJSON = [
        "type": "session", "version": 3, "id": .string(id), "timestamp": .string(Date().formatted(.iso8601)),
        "cwd": .string(FileManager.default.currentDirectoryPath),
      ]
      try Data((header.text + "\n").utf8).write(to: URL(filePath: path))
    }
    for entry in entries[written...] { text += entry.text + "\n" }
    let file = try FileAppender(path)
    try file.append(text)
    written = entries.count
  }

  var lastEntry: String? { ids.last }

  /// Entries after the one named, or all; nil when there is no such entry.
  func entries(since: String?) -> [OrderedJSON]? {
    guard let since else { return entries }
    guard let index = ids.lastIndex(of: since) else { return nil }
    return Array(entries[(index + 1)...])
  }
}
