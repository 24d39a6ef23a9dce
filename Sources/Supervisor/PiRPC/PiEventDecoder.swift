internal import RelayJSON
internal import RelayWire

/// Decodes the rare, small events.
enum PiEventDecoder {
  static func event(_ type: String, _ line: UnsafeRawBufferPointer, toolImages: Bool) -> PiEvent {
    do {
      return try decode(type, line, toolImages: toolImages)
    } catch {
      // An event of a known type in an unknown shape: newer releases may do that. Nothing may end because of it.
      return .noise(beginning: PiEventScanner.beginning(of: line))
    }
  }

  private static func decode(_ type: String, _ line: UnsafeRawBufferPointer, toolImages: Bool) throws -> PiEvent {
    func read<Shape: Decodable>(_ shape: Shape.Type) throws -> Shape { try JSONCoding.decode(shape, from: line) }
    switch type {
    case "response": return .response(try response(line))
    case "agent_start": return .agentStart
    case "agent_end": return .agentEnd(willRetry: willRetry(line))
    case "agent_settled": return .agentSettled
    case "message_start": return try messageStart(line)
    case "message_end": return .messageEnd(try message(line))
    case "tool_execution_start":
      let tool = try read(ToolStart.self)
      return .toolStart(id: tool.toolCallId, name: tool.toolName, arguments: tool.args ?? .null)
    case "tool_execution_end":
      let tool = try read(ToolEnd.self)
      let images = toolImages ? try read(ToolImages.self).images : []
      return .toolEnd(id: tool.toolCallId, name: tool.toolName, failed: tool.isError ?? false, images: images)
    case "compaction_start", "auto_compaction_start": return .compactionStart(reason: try read(Reason.self).reason)
    case "compaction_end", "auto_compaction_end":
      let end = try read(CompactionEnd.self)
      return .compactionEnd(
        aborted: end.aborted ?? false, willRetry: end.willRetry ?? false, tokensBefore: end.result?.tokensBefore,
        error: end.errorMessage)
    case "auto_retry_start":
      let retry = try read(RetryStart.self)
      return .retryStart(
        attempt: retry.attempt, of: retry.maxAttempts, delayMilliseconds: retry.delayMs, error: retry.errorMessage)
    case "auto_retry_end":
      let retry = try read(RetryEnd.self)
      return .retryEnd(succeeded: retry.success, error: retry.finalError)
    case "extension_ui_request": return try read(InterfaceRequest.self).event
    case "extension_ui_withdrawn":
      let withdrawal = try read(InterfaceWithdrawal.self)
      return .dialogWithdrawn(id: withdrawal.id, why: withdrawal.reason)
    case "extension_error":
      let failure = try read(ExtensionError.self)
      return .extensionError(path: failure.extensionPath, message: failure.error)
    case "session_info_changed": return .sessionName(try read(SessionInfo.self).name)
    default: return .other(type: type)
    }
  }

  /// `willRetry` comes after the messages, which may be many: it is found without decoding them.
  private static func willRetry(_ line: UnsafeRawBufferPointer) -> Bool? {
    var answer: Bool?
    var cursor = JSONCursor(line)
    _ = cursor.members { key, cursor in
      guard key.equals("willRetry") else { return true }
      answer = cursor.peek() == UInt8(ascii: "t")
      return false
    }
    return answer
  }

  private struct Unreadable: Error {}

  /// Without decoding `data`: there is one for each command, and a person waits for what follows.
  private static func response(_ line: UnsafeRawBufferPointer) throws -> PiResponse {
    var response = PiResponse(success: false, line: [])
    var isSuccess: Bool?
    var cursor = JSONCursor(line)
    let isWhole = cursor.members { key, cursor in
      if key.equals("id") { response.id = cursor.validText() }
      if key.equals("command") { response.command = cursor.validText() }
      if key.equals("error") { response.error = cursor.validText() }
      if key.equals("success") {
        isSuccess = cursor.peek() == UInt8(ascii: "t") ? true : cursor.peek() == UInt8(ascii: "f") ? false : nil
      }
      return true
    }
    guard isWhole, cursor.peek() == nil, let isSuccess else { throw Unreadable() }
    response.success = isSuccess
    response.line = Array(line)
    return response
  }

  private static func messageStart(_ line: UnsafeRawBufferPointer) throws -> PiEvent {
    let role = try JSONCoding.decode(RoleOnly.self, from: line).message.role
    guard role == "user" else { return .messageStart(role: role, text: nil) }
    let event = try JSONValue(text: line)
    let content = event["message"]?["content"]
    // Only the extension in a terminal says where a message came from.
    if event["source"] == "interactive" { return .typed(try text(content)) }
    let hasImages = content?.arrayValue?.contains { $0["type"]?.stringValue != "text" } ?? false
    return .messageStart(role: role, text: hasImages ? nil : try text(content))
  }

  /// The last words of an answer: the person waits for them.
  private static func message(_ line: UnsafeRawBufferPointer) throws -> PiMessage {
    let message = try JSONValue(text: line)["message"]
    guard let role = message?["role"]?.stringValue else { throw Unreadable() }
    return PiMessage(
      role: role, text: try text(message?["content"]), stopReason: message?["stopReason"]?.stringValue,
      errorMessage: message?["errorMessage"]?.stringValue)
  }

  /// A list of blocks; custom messages may have plain text.
  private static func text(_ content: JSONValue?) throws -> String {
    switch content {
    case nil, .null: return ""
    case .string(let text): return text
    case .array(let blocks):
      return try blocks.map { block in
        guard let type = block["type"]?.stringValue else { throw Unreadable() }
        return type == "text" ? block["text"]?.stringValue ?? "" : ""
      }.joined()
    default: throw Unreadable()
    }
  }

  private struct RoleOnly: Decodable {
    struct Message: Decodable { var role: String }
    var message: Message
  }

  private struct ToolStart: Decodable {
    var toolCallId: String
    var toolName: String
    var args: JSONValue?
  }

  private struct ToolEnd: Decodable {
    var toolCallId: String
    var toolName: String
    var isError: Bool?
  }

  private struct ToolImages: Decodable {
    struct Block: Decodable {
      var type: String
      var data: String?
      var mimeType: String?
    }
    struct Result: Decodable { var content: [Block]? }
    var result: Result?
    var images: [PiImage] {
      (result?.content ?? []).compactMap { block in
        guard block.type == "image", let data = block.data, let mime = block.mimeType else { return nil }
        return PiImage(data: data, mimeType: mime)
      }
    }
  }

  private struct Reason: Decodable { var reason: String? }

  private struct CompactionEnd: Decodable {
    var result: PiCompaction?
    var aborted: Bool?
    var willRetry: Bool?
    var errorMessage: String?
  }

  private struct RetryStart: Decodable {
    var attempt: Int64
    var maxAttempts: Int64
    var delayMs: Int64
    var errorMessage: String?
  }

  private struct RetryEnd: Decodable {
    var success: Bool
    var finalError: String?
  }

  private struct ExtensionError: Decodable {
    var extensionPath: String?
    var error: String
  }

  private struct SessionInfo: Decodable { var name: String? }

  /// Only of the extension in a terminal.
  private struct InterfaceWithdrawal: Decodable {
    var id: String
    var reason: String
  }

  private struct InterfaceRequest: Decodable {
    var id: String
    var method: String
    var title: String?
    var message: String?
    var options: [String]?
    var placeholder: String?
    var prefill: String?
    var timeout: Int64?
    var notifyType: String?

    var event: PiEvent {
      if method == "notify" { return .notify(message: message ?? "", kind: notifyType) }
      // setStatus, setWidget, setTitle and set_editor_text draw on a terminal that is not there.
      guard let kind = PiDialog.Kind(rawValue: method) else { return .other(type: "extension_ui_request/\(method)") }
      return .dialog(
        PiDialog(
          id: id, kind: kind, title: title ?? "", message: message, options: options ?? [], placeholder: placeholder,
          prefill: prefill, timeout: timeout))
    }
  }
}
