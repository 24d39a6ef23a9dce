internal import PluginRuntime
internal import RelayModel
internal import RelayWire

extension OutboundRecord.Request {
  /// - Parameter marked: says in the text that it may be a repeat.
  /// - Returns: the message's id.
  func send(through link: PluginConnection, marked: Bool) async throws -> String {
    let mark = marked ? MessageSender.repeatMark : ""
    switch self {
    case .message(var request):
      if !request.text.hasPrefix(mark) { request.text = mark + request.text }
      return try await link.request(request).message
    case .file(var request):
      if marked { request.caption = mark + (request.caption ?? "") }
      return try await link.request(request, within: .seconds(120)).message
    case .edit(let request): return try await link.request(request).message ?? request.message
    case .dialog(var request):
      request.text = mark + request.text
      guard link.capabilities.buttons != nil else {
        let plain = MessageSend(
          key: request.key, conversation: request.conversation, text: request.text, role: .dialog)
        return try await link.request(plain).message
      }
      return try await link.request(request).message
    case .close(let request):
      if link.capabilities.buttons != nil {
        _ = try await link.request(request)
      } else if link.capabilities.edit == true {
        _ = try await link.request(
          MessageEdit(conversation: request.conversation, message: request.message, text: request.text))
      }
      return request.message
    }
  }
}
