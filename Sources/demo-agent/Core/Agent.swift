import FoundationEssentials
import Glibc
internal import RelayPipes
internal import RelayWire

/// An agent that behaves as `pi --mode rpc` does, recordings included, with a script instead of a model.
package actor Agent {
  private let options: AgentOptions
  private let lines: AgentLines
  private let output: @Sendable (String) -> Void
  private var session: SessionFile
  private var run: Task<Void, Never>?
  private var steering: [String] = []
  private var followUps: [String] = []
  private var answers: [String: CheckedContinuation<DialogAnswer, Never>] = [:]
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
    lines = AgentLines(dialect: options.dialect, model: options.model ?? "demo")
    session = SessionFile(
      options: options, environment: ProcessInfo.processInfo.environment,
      directory: FileManager.default.currentDirectoryPath)
  }

  private func emit(_ line: OrderedJSON) { output(line.text) }

  private func emit(_ type: String) { emit(["type": .string(type)]) }

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
    case "get_entries" where options.dialect == .current:
      if let entries = session.entries(since: command.since) {
        let leaf = session.lastEntry.map(OrderedJSON.string) ?? .null
        emit(lines.response(command.id, type, data: ["entries": .array(entries), "leafId": leaf]))
      } else {
        emit(lines.response(command.id, type, error: "Entry not found: \(command.since ?? "")"))
      }
    case "get_commands":
      let all = Script.commands.map { command -> OrderedJSON in
        ["name": .string(command.name), "description": .string(command.summary), "source": "prompt"]
      }
      emit(lines.response(command.id, type, data: ["commands": .array(all)]))
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
      "id": .string(lines.model), "name": "Demo", "api": "demo", "provider": "demo", "reasoning": false,
      "input": lines.model == "text-only" ? ["text"] : ["text", "image"], "contextWindow": 128000,
    ]
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

  private func queueChanged() {
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

  // MARK: - A run

  private func execute(_ first: String, images: [(mime: String, data: String)]) async {
    var next: String? = first
    var pictures = images
    while let text = next {
      emit("agent_start")
      await oneRun(text, images: pictures)
      pictures = []
      next = steering.isEmpty ? (followUps.isEmpty ? nil : followUps.removeFirst()) : steering.removeFirst()
      if next != nil { queueChanged() }
    }
    run = nil
    if options.dialect == .current { emit("agent_settled") }
  }

  private func oneRun(_ prompt: String, images: [(mime: String, data: String)]) async {
    emit("turn_start")
    let blocks = images.map { image -> OrderedJSON in
      ["type": "image", "data": .string(image.data), "mimeType": .string(image.mime)]
    }
    let number = session.messageCount
    let user = lines.user(prompt, images: blocks)
    say(user, role: "user")
    var messages = [user]
    let described = images.map { "\($0.mime), \(Self.decodedSize($0.data)) bytes" }
    for step in Script.steps(for: prompt, images: described, number: number) {
      if await perform(step, &messages) == .stop { break }
    }
    emit(lines.agentEnd(messages, willRetry: false))
  }

  private static func decodedSize(_ base64: String) -> Int {
    base64.utf8.count * 3 / 4 - base64.utf8.suffix(2).count { $0 == UInt8(ascii: "=") }
  }

  private enum Outcome { case goOn, stop }

  /// Emits a message that is whole from the start.
  private func say(_ message: OrderedJSON, role: String) {
    emit(["type": "message_start", "message": message])
    emit(["type": "message_end", "message": message])
    keep(message, role)
  }

  private func keep(_ message: OrderedJSON, _ role: String) {
    do {
      try session.append(role: role, message: message)
    } catch {
      // As pi: failures to persist are silent on the protocol.
      StandardError.say("demo agent: the session could not be written: \(error)")
    }
  }

  private func perform(_ step: ScriptStep, _ messages: inout [OrderedJSON]) async -> Outcome {
    switch step {
    case .say(let text, let piece, let milliseconds):
      return await stream(text, piece: piece, milliseconds: milliseconds, &messages)
    case .tool(let name, let arguments, let milliseconds, let result, let image):
      return await tool(name, arguments, milliseconds, result, image: image, &messages)
    case .ask(let dialog, let timeout):
      let answer = await ask(dialog, timeout: timeout)
      return await stream(answer, piece: 8, milliseconds: 5, &messages)
    case .notify(let text):
      emit([
        "type": "extension_ui_request", "id": .string(UUID().uuidString.lowercased()), "method": "notify",
        "message": .string(text), "notifyType": "info",
      ])
      return .goOn
    case .fail(let error, let retries, let succeeds):
      return await fail(error, retries: retries, thenSucceeds: succeeds, &messages)
    case .compaction:
      emit(lines.compaction("start", [("reason", "threshold")]))
      let result: OrderedJSON = ["summary": "s", "firstKeptEntryId": "0", "tokensBefore": 99]
      emit(
        lines.compaction(
          "end", [("reason", "threshold"), ("result", result), ("aborted", false), ("willRetry", false)])
      )
      return .goOn
    case .noise(let text):
      output(text)
      return .goOn
    case .hang:
      _ = await pause(milliseconds: 86_400_000)
      return await stream("", piece: 1, milliseconds: 1, &messages)
    case .crash(let code): crash(code)
    }
  }

  private nonisolated func crash(_ code: Int32) -> Never {
    StandardError.say("demo agent: ending with code \(code), as asked")
    exit(code)
  }

  /// False when the run was aborted meanwhile.
  private func pause(milliseconds: Int) async -> Bool {
    do {
      try await Task.sleep(for: .milliseconds(milliseconds))
      return true
    } catch {
      return false
    }
  }

  private func stream(_ text: String, piece: Int, milliseconds: Int, _ messages: inout [OrderedJSON]) async -> Outcome {
    emit(["type": "message_start", "message": lines.assistant([], stopReason: "pending")])
    var shown = ""
    var rest = text[...]
    var aborted = Task.isCancelled
    func soFar() -> OrderedJSON { lines.assistant([["type": "text", "text": .string(shown)]], stopReason: "pending") }
    if !rest.isEmpty, !aborted {
      emit(lines.update([("type", "text_start"), ("contentIndex", 0)], soFar: soFar()))
    }
    while !rest.isEmpty, !aborted {
      let next = rest.prefix(piece)
      rest = rest.dropFirst(piece)
      shown += next
      emit(
        lines.update([("type", "text_delta"), ("contentIndex", 0), ("delta", .string(String(next)))], soFar: soFar()))
      aborted = await !pause(milliseconds: milliseconds)
    }
    if !shown.isEmpty {
      emit(lines.update([("type", "text_end"), ("contentIndex", 0), ("content", .string(shown))], soFar: soFar()))
    }
    let content: [OrderedJSON] = shown.isEmpty ? [] : [["type": "text", "text": .string(shown)]]
    let message = lines.assistant(
      content, stopReason: aborted ? "aborted" : "stop", error: aborted ? "Request was aborted." : nil)
    emit(["type": "message_end", "message": message])
    keep(message, "assistant")
    emit(["type": "turn_end", "message": message, "toolResults": []])
    messages.append(message)
    return aborted ? .stop : .goOn
  }

  private func tool(
    _ name: String, _ arguments: String, _ milliseconds: Int, _ result: String, image: Bool,
    _ messages: inout [OrderedJSON]
  ) async -> Outcome {
    let id = "call_\(UUID().uuidString.prefix(10).lowercased())"
    let call: OrderedJSON = [
      "type": "toolCall", "id": .string(id), "name": .string(name), "arguments": .raw(arguments),
    ]
    let asking = lines.assistant([call], stopReason: "toolUse")
    emit(["type": "message_start", "message": lines.assistant([], stopReason: "pending")])
    emit(["type": "message_end", "message": asking])
    keep(asking, "assistant")
    let head: [(String, OrderedJSON)] = [("toolCallId", .string(id)), ("toolName", .string(name))]
    emit(.object([("type", "tool_execution_start")] + head + [("args", .raw(arguments))]))
    let aborted = await !pause(milliseconds: milliseconds)
    var content: [OrderedJSON] = [["type": "text", "text": .string(aborted ? "Command aborted" : result)]]
    if image { content.append(["type": "image", "data": .string(Self.picture), "mimeType": "image/png"]) }
    emit(
      .object(
        [("type", "tool_execution_end")] + head
          + [("result", ["content": .array(content)]), ("isError", .bool(aborted))]))
    let message = lines.toolResult(id: id, name: name, content: content, failed: aborted)
    say(message, role: "toolResult")
    emit(["type": "turn_end", "message": asking, "toolResults": [message]])
    emit("turn_start")
    messages += [asking, message]
    return aborted ? await stream("", piece: 1, milliseconds: 1, &messages) : .goOn
  }

  /// One black pixel.
  private static let picture =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="

  private func ask(_ dialog: ScriptStep.Dialog, timeout: Int?) async -> String {
    let id = UUID().uuidString.lowercased()
    var members: [(String, OrderedJSON)] = [("type", "extension_ui_request"), ("id", .string(id))]
    switch dialog {
    case .confirm(let title, let message):
      members += [("method", "confirm"), ("title", .string(title)), ("message", .string(message))]
    case .select(let title, let options):
      members += [
        ("method", "select"), ("title", .string(title)), ("options", .array(options.map(OrderedJSON.string))),
      ]
    case .input(let title, let placeholder):
      members += [("method", "input"), ("title", .string(title)), ("placeholder", .string(placeholder))]
    case .editor(let title, let prefill):
      members += [("method", "editor"), ("title", .string(title)), ("prefill", .string(prefill))]
    }
    if let timeout { members.append(("timeout", .integer(timeout))) }
    emit(.object(members))
    let expiry = timeout.map { timeout in
      Task {
        if await pause(milliseconds: timeout) {
          answers.removeValue(forKey: id)?.resume(returning: DialogAnswer(cancelled: true))
        }
      }
    }
    let answer = await withCheckedContinuation { answers[id] = $0 }
    expiry?.cancel()
    if answer.cancelled { return "You gave no answer." }
    if let confirmed = answer.confirmed { return confirmed ? "You said yes." : "You said no." }
    return "You answered: \(answer.value ?? "nothing")"
  }

  private func fail(_ error: String, retries: Int, thenSucceeds: Bool, _ messages: inout [OrderedJSON]) async -> Outcome
  {
    for attempt in 0...retries {
      let message = lines.assistant([], stopReason: "error", error: error)
      emit(["type": "message_start", "message": message])
      emit(["type": "message_end", "message": message])
      emit(["type": "turn_end", "message": message, "toolResults": []])
      messages.append(message)
      guard attempt < retries else { break }
      emit(lines.agentEnd(messages, willRetry: true))
      emit([
        "type": "auto_retry_start", "attempt": .integer(attempt + 1), "maxAttempts": 3, "delayMs": 20,
        "errorMessage": .string(error),
      ])
      if await !pause(milliseconds: 20) { return .stop }
      emit("agent_start")
      emit("turn_start")
      if thenSucceeds {
        emit(["type": "auto_retry_end", "success": true, "attempt": .integer(attempt + 1)])
        return await stream("It worked the second time.", piece: 6, milliseconds: 5, &messages)
      }
    }
    return .goOn
  }
}
