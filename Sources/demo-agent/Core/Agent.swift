import FoundationEssentials
import Glibc
internal import RelayConcurrency
internal import RelayJSON
internal import RelayWire

/// An agent that behaves as `pi --mode rpc` does, recordings included, with a script instead of a model.
package actor Agent {
  let options: AgentOptions
  let lines: AgentLines
  let output: @Sendable (String) -> Void
  /// `nil` where calls wait for nobody.
  let gate: ToolGate?
  var session: SessionFile
  var run: Task<Void, Never>?
  var steering: [String] = []
  var followUps: [String] = []
  var answers: [String: CheckedContinuation<DialogAnswer, Never>] = [:]
  private var sessionName: String?

  struct DialogAnswer: Sendable {
    var value: String?
    var confirmed: Bool?
    var cancelled = false
  }

  private struct Command: Decodable {
    struct Image: Decodable {
      var data: String?
      var mimeType: String?
    }
    var id: String?
    var type: String?
    var message: String?
    var images: [Image]?
    var streamingBehavior: String?
    var since: String?
    var name: String?
    var value: String?
    var confirmed: Bool?
    var cancelled: Bool?
  }

  /// - Parameter output: takes one line, without its newline.
  package init(options: AgentOptions, output: @escaping @Sendable (String) -> Void) {
    self.options = options
    self.output = output
    gate = ToolGate(options: options, environment: ProcessInfo.processInfo.environment)
    lines = AgentLines(dialect: options.dialect, model: options.model ?? "demo")
    session = SessionFile(
      options: options, environment: ProcessInfo.processInfo.environment,
      directory: FileManager.default.currentDirectoryPath)
  }

  func emit(_ line: OrderedJSON) { output(line.text) }

  func emit(_ type: String) { emit(["type": .string(type)]) }

  /// Takes one line of standard input.
  package func take(_ line: [UInt8]) {
    let command: Command
    do {
      command = try JSONCoding.decode(Command.self, from: line)
    } catch {
      emit([
        "type": "response", "command": "parse", "success": false,
        "error": .string("Failed to parse command: \(String(decoding: line.prefix(60), as: UTF8.self))"),
      ])
      return
    }
    handle(command)
  }

  private func handle(_ command: Command) {
    let type = command.type ?? "undefined"
    switch type {
    case "prompt": prompt(command)
    case "steer", "follow_up": enqueue(command, type)
    case "abort": abort(command.id)
    case "clear_queue" where options.dialect == .current:
      let removed = steering + followUps
      steering = []
      followUps = []
      queueChanged()
      emit(lines.response(command.id, type, data: ["removed": .array(removed.map(OrderedJSON.string))]))
    case "compact": compact(command.id)
    case "get_state": emit(lines.response(command.id, type, data: state))
    case "get_session_stats": emit(lines.response(command.id, type, data: stats))
    case "get_entries" where options.dialect == .current:
      if let entries = session.entries(since: command.since) {
        let leaf = session.lastEntry.map(OrderedJSON.string) ?? .null
        emit(lines.response(command.id, type, data: ["entries": .array(entries), "leafId": leaf]))
      } else {
        emit(lines.response(command.id, type, error: "Entry not found: \(command.since ?? "")"))
      }
    case "get_commands":
      let all = [(Script.extensionCommand, "extension")] + Script.commands.map { ($0, "prompt") }
      let list = all.map { command, source -> OrderedJSON in
        ["name": .string(command.name), "description": .string(command.summary), "source": .string(source)]
      }
      emit(lines.response(command.id, type, data: ["commands": .array(list)]))
    case "get_available_models":
      let models: [OrderedJSON] = options.lacksKey ? [] : [model]
      emit(lines.response(command.id, type, data: ["models": .array(models)]))
    case "set_session_name":
      sessionName = command.name
      emit(lines.response(command.id, type))
    case "extension_ui_response":
      guard let id = command.id, let waiting = answers.removeValue(forKey: id) else { return }
      waiting.resume(
        returning: DialogAnswer(
          value: command.value, confirmed: command.confirmed, cancelled: command.cancelled ?? false))
    default:
      // Older releases leave out the id.
      let id = options.dialect == .current ? command.id : nil
      emit(lines.response(id, type, error: "Unknown command: \(type)"))
    }
  }

  private var model: OrderedJSON {
    [
      "id": .string(lines.model), "name": "Demo", "api": "demo", "provider": "demo", "baseUrl": "",
      "reasoning": false, "input": lines.model == "text-only" ? ["text"] : ["text", "image"],
      "cost": ["input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0], "contextWindow": .integer(Self.contextWindow),
      "maxTokens": 16_384,
    ]
  }

  private static let contextWindow = 128_000

  private var stats: OrderedJSON {
    var members: [(String, OrderedJSON)] = []
    if let path = session.path { members.append(("sessionFile", .string(path))) }
    let counts = session.counts
    members += [
      ("sessionId", .string(session.id)), ("userMessages", .integer(counts.userMessages)),
      ("assistantMessages", .integer(counts.assistantMessages)), ("toolCalls", .integer(counts.toolResults)),
      ("toolResults", .integer(counts.toolResults)), ("totalMessages", .integer(session.messageCount)),
      (
        "tokens",
        [
          "input": .integer(counts.inputTokens), "output": .integer(counts.outputTokens), "cacheRead": 0,
          "cacheWrite": 0, "total": .integer(counts.tokens),
        ]
      ), ("cost", 0),
    ]
    // Older releases do not tell it.
    if options.dialect == .current {
      let percent = Double(counts.tokens) * 100 / Double(Self.contextWindow)
      members.append(
        (
          "contextUsage",
          [
            "tokens": .integer(counts.tokens), "contextWindow": .integer(Self.contextWindow),
            "percent": .raw("\(percent)"),
          ]
        ))
    }
    return .object(members)
  }

  private var state: OrderedJSON {
    var members: [(String, OrderedJSON)] = []
    if !options.lacksKey { members.append(("model", model)) }
    members += [
      ("thinkingLevel", "off"), ("isStreaming", .bool(run != nil)), ("isCompacting", false),
      ("steeringMode", "one-at-a-time"), ("followUpMode", "one-at-a-time"),
    ]
    if let path = session.path { members.append(("sessionFile", .string(path))) }
    members.append(("sessionId", .string(session.id)))
    if let sessionName { members.append(("sessionName", .string(sessionName))) }
    members += [
      ("autoCompactionEnabled", true), ("messageCount", .integer(session.messageCount)),
      ("pendingMessageCount", .integer(steering.count + followUps.count)),
    ]
    return .object(members)
  }

  // MARK: - Prompts

  private func prompt(_ command: Command) {
    guard let text = command.message else {
      emit(lines.response(command.id, "prompt", error: "Cannot read properties of undefined (reading 'startsWith')"))
      return
    }
    if Script.isOfExtension(text) {
      if text.hasSuffix(" fail") { failCommand() } else { notify("pong") }
      return emit(lines.response(command.id, "prompt"))
    }
    if options.lacksKey {
      emit(lines.response(command.id, "prompt", error: "No API key found for demo."))
      return
    }
    if run != nil {
      switch command.streamingBehavior {
      case "steer": enqueue(command, "steer")
      case "followUp": enqueue(command, "follow_up")
      default:
        let error =
          "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
        emit(lines.response(command.id, "prompt", error: error))
        // Older releases answer such a prompt twice, with the same id.
        if options.dialect == .cumulative { emit(lines.response(command.id, "prompt")) }
      }
      return
    }
    if text == "/crash now" { crash(42) }
    emit(lines.response(command.id, "prompt"))
    let images = command.images ?? []
    run = Task { await execute(text, images: images.map { ($0.mimeType ?? "?", $0.data ?? "") }) }
  }

  private func enqueue(_ command: Command, _ type: String) {
    guard let text = command.message else {
      emit(lines.response(command.id, type, error: "Cannot read properties of undefined (reading 'startsWith')"))
      return
    }
    if type == "steer" { steering.append(text) } else { followUps.append(text) }
    queueChanged()
    emit(lines.response(command.id, type))
  }

  func queueChanged() {
    guard options.dialect == .current else { return }
    emit([
      "type": "queue_update", "steering": .array(steering.map(OrderedJSON.string)),
      "followUp": .array(followUps.map(OrderedJSON.string)),
    ])
  }

  private func abort(_ id: String?) {
    guard let run else {
      emit(lines.response(id, "abort"))
      return
    }
    // As pi does: an open dialog holds the run, abort or not.
    if answers.isEmpty { run.cancel() }
    Task {
      await run.value
      emit(lines.response(id, "abort"))
    }
  }

  private func compact(_ id: String?) {
    emit(lines.compaction("start", [("reason", "manual")]))
    guard session.messageCount > 0 else {
      let error = "Nothing to compact (session too small)"
      emit(
        lines.compaction(
          "end", [("reason", "manual"), ("aborted", false), ("willRetry", false), ("errorMessage", .string(error))]))
      emit(lines.response(id, "compact", error: error))
      return
    }
    let result: OrderedJSON = ["summary": "A demo talk.", "firstKeptEntryId": "0", "tokensBefore": 12_345]
    emit(
      lines.compaction("end", [("reason", "manual"), ("result", result), ("aborted", false), ("willRetry", false)]))
    emit(lines.response(id, "compact", data: result))
  }
}
