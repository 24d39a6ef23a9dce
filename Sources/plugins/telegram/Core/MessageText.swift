internal import MessengerKit
internal import PluginSDK
internal import RelayConcurrency

/// Texts of the bot, in the best form that the server takes: a rich message with the Markdown as it is, HTML, or plain text. What
/// is refused in one form is tried in the next, so that no text is lost over its markup.
struct MessageText: Sendable {
  private enum Form { case rich, html, plain }

  /// The abilities that this server may lack: an own server may be older than the public one.
  private struct Server {
    var hasRich = true
    var hasDrafts = true
  }

  private let api: BotAPI
  private let server = Locked(Server())

  init(_ api: BotAPI) { self.api = api }

  /// Reports that growing answers can be shown as drafts.
  var hasDrafts: Bool { server.withLock { $0.hasDrafts } }

  /// Sends a message.
  ///
  /// - Parameter markup: the keyboard.
  /// - Returns: the message as Telegram has it.
  func send(_ text: String, to place: Place, markup: JSONValue? = nil) async throws(RESTError) -> JSONValue {
    var parameters = place.parameters
    parameters["reply_markup"] = markup
    return try await inForms(of: text) { form throws(RESTError) in
      try await api.ask(
        form == .rich ? "sendRichMessage" : "sendMessage", Self.adding(text, as: form, to: parameters), in: place.chat,
        isRepeatable: false)
    }
  }

  /// Changes a message.
  ///
  /// - Parameters:
  ///   - limit: for all of it; otherwise what suits the host.
  ///   - isCounted: room was taken for it before.
  func change(
    _ message: Int, to text: String, in place: Place, markup: JSONValue? = nil, within limit: Duration? = nil,
    isCounted: Bool = false
  ) async throws(RESTError) {
    var parameters: [String: JSONValue] = [
      "chat_id": .integer(Int64(place.chat)), "message_id": .integer(Int64(message)),
    ]
    parameters["reply_markup"] = markup
    do {
      _ = try await inForms(of: text) { form throws(RESTError) in
        try await api.ask(
          "editMessageText", Self.adding(text, as: form, to: parameters), in: place.chat, within: limit,
          isCounted: isCounted)
      }
    } catch  where error.isUnmodified {
      // It shows that already.
    }
  }

  /// Shows a growing answer as a draft, in a private chat.
  ///
  /// - Returns: false where the server has none.
  func draft(_ number: Int, _ text: String, to place: Place, isCounted: Bool = false) async throws(RESTError) -> Bool {
    var parameters = place.parameters
    parameters["draft_id"] = .integer(Int64(number))
    parameters["can_stop"] = true
    do {
      _ = try await inForms(of: text) { form throws(RESTError) in
        try await api.ask(
          form == .rich ? "sendRichMessageDraft" : "sendMessageDraft", Self.adding(text, as: form, to: parameters),
          in: place.chat, isCounted: isCounted)
      }
      return true
    } catch  where error.isAboutForm {
      server.withLock { $0.hasDrafts = false }
      return false
    }
  }

  private static func adding(_ text: String, as form: Form, to parameters: [String: JSONValue]) -> [String: JSONValue] {
    var parameters = parameters
    switch form {
    case .rich: parameters["rich_message"] = ["markdown": .string(text)]
    case .html:
      parameters["text"] = .string(TelegramHTML.render(text))
      parameters["parse_mode"] = "HTML"
    case .plain: parameters["text"] = .string(text)
    }
    if form != .rich { parameters["link_preview_options"] = ["is_disabled": true] }
    return parameters
  }

  private func inForms(
    of text: String, _ ask: (Form) async throws(RESTError) -> JSONValue
  ) async throws(RESTError) -> JSONValue {
    for form in [Form.rich, .html] where form != .rich || server.withLock({ $0.hasRich }) {
      do {
        return try await ask(form)
      } catch {
        guard error.isAboutForm else { throw error }
        if form == .rich, error.isUnknownMethod { server.withLock { $0.hasRich = false } }
      }
    }
    return try await ask(.plain)
  }
}
