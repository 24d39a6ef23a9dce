import FoundationEssentials
import Glibc
internal import RelayTransport
internal import RelayWire

// Carries out one run: writes the script's steps as pi's events.
extension Agent {
  func execute(_ first: String, images: [(mime: String, data: String)]) async {
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
    let described = images.map { "\($0.mime), \(ByteCount(Self.decodedSize($0.data)))" }
    var last: OrderedJSON?
    steps: for step in Script.steps(for: prompt, images: described, number: number) {
      switch await perform(step, &messages) {
      case .resume: break
      case .stop: break steps
      case .retriesFailed(let end): last = end
      }
    }
    emit(lines.agentEnd(messages, willRetry: false))
    if let last { emit(last) }
  }

  private static func decodedSize(_ base64: String) -> Int {
    base64.utf8.count * 3 / 4 - base64.utf8.suffix(2).count { $0 == UInt8(ascii: "=") }
  }

  private enum Outcome {
    case resume, stop
    /// Said behind the end of the last try.
    case retriesFailed(OrderedJSON)
  }

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

  func notify(_ text: String) {
    emit([
      "type": "extension_ui_request", "id": .string(UUID().uuidString.lowercased()), "method": "notify",
      "message": .string(text), "notifyType": "info",
    ])
  }

  /// The demo's extension command fails, as pi reports it.
  func failCommand() {
    emit([
      "type": "extension_error", "extensionPath": .string("command:\(Script.extensionCommand.name)"),
      "event": "command", "error": "no pong, as asked",
    ])
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
      notify(text)
      return .resume
    case .fail(let error, let retries, let milliseconds, let succeeds):
      return await fail(error, retries: retries, milliseconds: milliseconds, thenSucceeds: succeeds, &messages)
    case .compaction(let milliseconds):
      emit(lines.compaction("start", [("reason", "threshold")]))
      if await !pause(milliseconds: milliseconds) { return .stop }
      let result: OrderedJSON = ["summary": "s", "firstKeptEntryId": "0", "tokensBefore": 99]
      emit(
        lines.compaction(
          "end", [("reason", "threshold"), ("result", result), ("aborted", false), ("willRetry", false)])
      )
      return .resume
    case .noise(let text):
      output(text)
      return .resume
    case .hang:
      _ = await pause(milliseconds: 86_400_000)
      return await stream("", piece: 1, milliseconds: 1, &messages)
    case .crash(let code): crash(code)
    }
  }

  nonisolated func crash(_ code: Int32) -> Never {
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
    emit(["type": "message_start", "message": lines.assistant([], stopReason: lines.unfinished)])
    var shown = ""
    var rest = text[...]
    var aborted = Task.isCancelled
    func soFar() -> OrderedJSON {
      lines.assistant([["type": "text", "text": .string(shown)]], stopReason: lines.unfinished)
    }
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
    return aborted ? .stop : .resume
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
    emit(["type": "message_start", "message": lines.assistant([], stopReason: lines.unfinished)])
    emit(["type": "message_end", "message": asking])
    keep(asking, "assistant")
    let head: [(String, OrderedJSON)] = [("toolCallId", .string(id)), ("toolName", .string(name))]
    emit(.object([("type", "tool_execution_start")] + head + [("args", .raw(arguments))]))
    let obstacle = await gate?.obstacle(id, tool: name, arguments: arguments)
    let aborted = obstacle == nil ? await !pause(milliseconds: milliseconds) : Task.isCancelled
    let failed = aborted || obstacle != nil
    var content: [OrderedJSON] = [
      ["type": "text", "text": .string(obstacle ?? (aborted ? "Command aborted" : result))]
    ]
    if image, !failed { content.append(["type": "image", "data": .string(Self.picture), "mimeType": "image/png"]) }
    emit(
      .object(
        [("type", "tool_execution_end")] + head
          + [("result", ["content": .array(content)]), ("isError", .bool(failed))]))
    let message = lines.toolResult(id: id, name: name, content: content, failed: failed)
    say(message, role: "toolResult")
    emit(["type": "turn_end", "message": asking, "toolResults": [message]])
    emit("turn_start")
    messages += [asking, message]
    if aborted { return await stream("", piece: 1, milliseconds: 1, &messages) }
    guard let obstacle else { return .resume }
    _ = await stream("I did not do that. \(obstacle)", piece: 8, milliseconds: 5, &messages)
    return .stop
  }

  /// A single black pixel.
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

  private func fail(
    _ error: String, retries: Int, milliseconds: Int, thenSucceeds: Bool, _ messages: inout [OrderedJSON]
  ) async -> Outcome {
    for attempt in 0...retries {
      let message = lines.assistant([], stopReason: "error", error: error)
      emit(["type": "message_start", "message": message])
      emit(["type": "message_end", "message": message])
      emit(["type": "turn_end", "message": message, "toolResults": []])
      messages.append(message)
      guard attempt < retries else { break }
      emit(lines.agentEnd(messages, willRetry: true))
      emit([
        "type": "auto_retry_start", "attempt": .integer(attempt + 1), "maxAttempts": 3,
        "delayMs": .integer(milliseconds),
        "errorMessage": .string(error),
      ])
      if await !pause(milliseconds: milliseconds) { return .stop }
      emit("agent_start")
      emit("turn_start")
      if thenSucceeds {
        emit(["type": "auto_retry_end", "success": true, "attempt": .integer(attempt + 1)])
        return await stream("It worked the second time.", piece: 6, milliseconds: 5, &messages)
      }
    }
    guard retries > 0 else { return .resume }
    return .retriesFailed([
      "type": "auto_retry_end", "success": false, "attempt": .integer(retries), "finalError": .string(error),
    ])
  }
}
