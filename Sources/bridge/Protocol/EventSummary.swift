internal import RelayWire

/// An event as clients see it by default: sizes and beginnings in place of long values. Made from the bytes that pi
/// wrote, without decoding them as a whole.
package struct EventSummary: Sendable, Equatable {
  /// A JSON object.
  package private(set) var data: [UInt8]
  /// Indicates that `data` is less than the event.
  package private(set) var isTruncated: Bool
  /// Bytes of the event as pi wrote it.
  package let originalBytes: Int

  /// - Parameter event: one JSON object as pi wrote it.
  package init(of event: UnsafeRawBufferPointer, named name: String, limits: BridgeLimits) {
    originalBytes = event.count
    let fields = JSONFields(event)
    if let fields, let kind = Kind(rawValue: name) {
      data = Self.summary(of: kind, fields, event, previewBytes: limits.eventPreviewBytes)
      isTruncated = true
    } else {
      let fits = fields != nil && event.count <= limits.maxEventBytes
      data = fits ? Array(event) : []
      isTruncated = !fits
    }
    if data.isEmpty || data.count > limits.maxEventBytes {
      data = Self.description(ofOversized: name, event.count, limits.maxEventBytes)
      isTruncated = true
    }
  }

  /// The summary of an `agent_end` whose line was too long to be read whole.
  ///
  /// - Parameters:
  ///   - messages: the number of the run's messages.
  ///   - answer: the assistant's last message, as pi wrote it.
  /// - Returns: a JSON object.
  package static func agentEnd(messages: Int, answer: UnsafeRawBufferPointer?, limits: BridgeLimits) -> [UInt8] {
    var object = JSONObjectText()
    object.addAgentEnd(nil, messages: messages, answer.flatMap { JSONFields($0) }, limits.eventPreviewBytes)
    return object.closed
  }

  private enum Kind: String {
    case input
    case messageUpdate = "message_update"
    case toolExecutionStart = "tool_execution_start"
    case toolExecutionUpdate = "tool_execution_update"
    case toolExecutionEnd = "tool_execution_end"
    case agentEnd = "agent_end"
    case sessionInfoChanged = "session_info_changed"
    case sessionCompact = "session_compact"
    case sessionTree = "session_tree"
  }

  private static func summary(
    of kind: Kind, _ fields: JSONFields, _ event: UnsafeRawBufferPointer, previewBytes: Int
  ) -> [UInt8] {
    var object = JSONObjectText()
    switch kind {
    case .input: object.addInput(fields, previewBytes)
    case .messageUpdate: object.addMessageUpdate(fields, previewBytes)
    case .toolExecutionStart, .toolExecutionUpdate, .toolExecutionEnd: object.addToolExecution(fields, previewBytes)
    case .agentEnd: object.addAgentEnd(fields, previewBytes)
    case .sessionInfoChanged:
      if let name = fields["name"] { object.add("name", MeasuredText(name, previewBytes: previewBytes)) }
    case .sessionCompact, .sessionTree:
      let whole = MeasuredText(event, previewBytes: previewBytes)
      object.add("bytes", whole.bytes)
      object.add("preview", whole.preview)
      if whole.isCut { object.add("truncated", true) }
    }
    return object.closed
  }

  private static func description(ofOversized name: String, _ bytes: Int, _ limit: Int) -> [UInt8] {
    var object = JSONObjectText()
    object.add("summary", "\(name) payload omitted (exceeded \(limit) bytes)")
    object.add("truncated", true)
    object.add("originalBytes", bytes)
    object.add("maxBytes", limit)
    return object.closed
  }
}

extension JSONObjectText {
  /// Adds `<key>Bytes`, `<key>Length`, `<key>Preview` and, for a cut text, `<key>Truncated`.
  fileprivate mutating func add(_ key: String, _ text: MeasuredText) {
    add("\(key)Bytes", text.bytes)
    add("\(key)Length", text.length)
    add("\(key)Preview", text.preview)
    if text.isCut { add("\(key)Truncated", true) }
  }

  fileprivate mutating func copy(_ key: StaticString, of fields: JSONFields, as name: StaticString? = nil) {
    if let value = fields[key] { add("\(name ?? key)", json: value) }
  }

  fileprivate mutating func addInput(_ fields: JSONFields, _ previewBytes: Int) {
    copy("source", of: fields)
    switch fields.text("streamingBehavior") {
    case "steer": add("streamingBehavior", "steer")
    case "followUp", "follow-up", "follow_up": add("streamingBehavior", "followUp")
    default: break
    }
    if let images = fields.items("images") { add("imagesCount", images.count) }
    add("text", MeasuredText(fields.text("text") ?? "", previewBytes: previewBytes))
  }

  fileprivate mutating func addMessageUpdate(_ fields: JSONFields, _ previewBytes: Int) {
    // Only an assistant's message grows; delta-only releases do not repeat its role.
    add("role", fields.object("message")?.text("role") ?? "assistant")
    guard let event = fields.object("assistantMessageEvent") else { return }
    copy("type", of: event)
    if let id = fields.first("messageId") ?? event.first("messageId", "id") { add("messageId", json: id) }
    copy("contentIndex", of: event)
    guard let delta = event.first("delta", "text", "content") else { return }
    let text = MeasuredText(delta, previewBytes: previewBytes)
    add("deltaLength", text.length)
    add("deltaBytes", text.bytes)
    add("deltaPreview", text.preview)
  }

  fileprivate mutating func addToolExecution(_ fields: JSONFields, _ previewBytes: Int) {
    copy("toolName", of: fields)
    if let id = fields.first("toolUseId", "toolCallId") { add("toolUseId", json: id) }
    for key: StaticString in ["status", "isError", "artifactPath", "logPath", "detailPath"] { copy(key, of: fields) }
    for key: StaticString in ["input", "arguments", "args", "result", "output", "content", "error", "delta"] {
      guard let value = fields[key] else { continue }
      let text = MeasuredText(value, previewBytes: previewBytes)
      add("\(key)Bytes", text.bytes)
      add("\(key)Preview", text.preview)
    }
  }

  fileprivate mutating func addAgentEnd(_ fields: JSONFields, _ previewBytes: Int) {
    let messages = fields.items("messages")
    // The answer is an assistant's message: prompts and results of tools are no final text.
    let answer = messages?.reversed().lazy.compactMap { JSONFields($0) }.first { $0.text("role") == "assistant" }
    addAgentEnd(fields, messages: messages?.count, answer, previewBytes)
  }

  fileprivate mutating func addAgentEnd(
    _ fields: JSONFields?, messages: Int?, _ answer: JSONFields?, _ previewBytes: Int
  ) {
    if let fields { copy("status", of: fields) }
    if let reason = fields?["stopReason"] ?? answer?["stopReason"] { add("stopReason", json: reason) }
    if let fields { copy("willRetry", of: fields) }
    if let usage = fields?["usage"] ?? answer?["usage"] { add("usage", json: usage) }
    if let messages { add("messagesCount", messages) }
    if let text = answer.flatMap(Self.finalText) { add("finalText", MeasuredText(text, previewBytes: previewBytes)) }
  }

  private static func finalText(of message: JSONFields) -> String? {
    if let text = message.text("content") { return text }
    let blocks = message.items("content") ?? []
    return blocks.reversed().lazy.compactMap { JSONFields($0)?.text("text") }.first { text in
      text.contains { !$0.isWhitespace }
    }
  }
}
