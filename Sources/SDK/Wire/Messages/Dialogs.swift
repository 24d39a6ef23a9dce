/// A button below a message. Pressing it sends `action.invoked`.
public struct Button: Codable, Sendable, Hashable {
  /// The look of a button, for platforms that have several.
  public enum Style: String, Codable, Sendable { case primary, secondary, success, danger }

  /// Opaque; comes back in `action.invoked`.
  public var id: String
  /// The text on the button, at most `ButtonLimits.labelLength` characters.
  public var label: String
  /// The look; `nil` leaves it to the messenger.
  public var style: Style?

  public init(id: String, label: String, style: Style? = nil) {
    self.id = id
    self.label = label
    self.style = style
  }
}

/// `dialog.show`: a question of the agent. The text alone is enough to answer it; buttons are a convenience.
public struct DialogShow: WireRequest, Equatable {
  public static let method = "dialog.show"
  public typealias Reply = Receipt

  /// The kind of answer that is wanted: yes or no, one of several, a line, or a text of several lines.
  public enum Kind: String, Codable, Sendable { case confirm, select, input, editor }

  /// Idempotency key: the same key never makes two messages.
  public var key: String
  /// The id of the conversation.
  public var conversation: String
  /// The question's id, by which `action.invoked` hands over a form's text and `dialog.close` ends the question.
  public var dialog: String
  /// The kind of answer that is wanted.
  public var kind: Kind
  /// The question, and how to answer it in words.
  public var text: String
  /// Rows of buttons for the answers; `nil` for a question that wants text, and where the answers are too many.
  public var buttons: [[Button]]?
  /// The text that a form begins with; `nil` for an empty form.
  public var prefill: String?
  /// Seconds since 1970 after which an answer comes too late.
  public var expires: Double?

  public init(
    key: String, conversation: String, dialog: String, kind: Kind, text: String, buttons: [[Button]]? = nil,
    prefill: String? = nil, expires: Double? = nil
  ) {
    self.key = key
    self.conversation = conversation
    self.dialog = dialog
    self.kind = kind
    self.text = text
    self.buttons = buttons
    self.prefill = prefill
    self.expires = expires
  }
}

/// `dialog.close`: the question is settled; `text` replaces it.
public struct DialogClose: WireRequest, Equatable {
  public static let method = "dialog.close"
  public typealias Reply = Empty

  /// The id of the conversation.
  public var conversation: String
  /// The id that `dialog.show` was answered with.
  public var message: String
  /// The question's id.
  public var dialog: String
  /// The text in place of the question.
  public var text: String

  public init(conversation: String, message: String, dialog: String, text: String) {
    self.conversation = conversation
    self.message = message
    self.dialog = dialog
    self.text = text
  }
}
