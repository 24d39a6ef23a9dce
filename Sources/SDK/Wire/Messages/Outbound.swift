/// The result of a send: the platform's own id of the message.
public struct Receipt: Codable, Sendable, Equatable {
  /// The platform's id of the message, by which the host changes it later. No other message of the conversation has it.
  public var message: String

  public init(message: String) { self.message = message }
}

/// The receipt of a change.
public struct EditReceipt: Codable, Sendable, Equatable {
  /// The message's id, which a change leaves as it is.
  public var message: String?
  /// A change of a growing message that is shown when the platform has room for it, unless another comes first.
  public var putOff: Bool?

  public init(message: String? = nil, putOff: Bool? = nil) {
    self.message = message
    self.putOff = putOff
  }
}

/// The role of a message for the person who reads it. Lets a messenger style or mute it; an unknown one is plain text.
public struct MessageRole: RawRepresentable, Hashable, Codable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The agent's words.
  public static let answer = MessageRole(rawValue: "answer")
  /// Something the relay itself says: an acknowledgement, a command's output, a problem.
  public static let notice = MessageRole(rawValue: "notice")
  /// The agent's tool calls.
  public static let tools = MessageRole(rawValue: "tools")
  /// A question that waits for an answer.
  public static let dialog = MessageRole(rawValue: "dialog")
  /// Text typed by someone elsewhere into the same session.
  public static let echo = MessageRole(rawValue: "echo")
}

/// `message.send`
public struct MessageSend: WireRequest, Equatable {
  public static let method = "message.send"
  public typealias Reply = Receipt

  /// Idempotency key: the same key never makes two messages.
  public var key: String
  /// The id of the conversation.
  public var conversation: String
  /// The whole text, in the messenger's dialect.
  public var text: String
  /// The role, by which a messenger may style or mute the message; `nil` where the host states none.
  public var role: MessageRole?
  /// `command:` or `action:` and the id of the native command or the press of a button that this answers.
  public var replyTo: String?
  /// Rows of buttons, within `Capabilities.buttons`; `nil` for none, and for messengers without them.
  public var buttons: [[Button]]?
  /// The text will still grow by `message.edit`.
  public var streaming: Bool?

  public init(
    key: String, conversation: String, text: String, role: MessageRole? = nil, replyTo: String? = nil,
    buttons: [[Button]]? = nil, streaming: Bool? = nil
  ) {
    self.key = key
    self.conversation = conversation
    self.text = text
    self.role = role
    self.replyTo = replyTo
    self.buttons = buttons
    self.streaming = streaming
  }
}

/// `message.edit`: the whole new text.
public struct MessageEdit: WireRequest, Equatable {
  public static let method = "message.edit"
  public typealias Reply = EditReceipt

  /// The id of the conversation.
  public var conversation: String
  /// The id that the send was answered with.
  public var message: String
  /// The whole new text, in the messenger's dialect.
  public var text: String
  /// Rows of buttons, within `Capabilities.buttons`; `nil` for none.
  public var buttons: [[Button]]?
  /// The text will still grow, or the message be deleted: the messenger may put the change off (`EditReceipt.putOff`).
  public var streaming: Bool?

  public init(
    conversation: String, message: String, text: String, buttons: [[Button]]? = nil, streaming: Bool? = nil
  ) {
    self.conversation = conversation
    self.message = message
    self.text = text
    self.buttons = buttons
    self.streaming = streaming
  }
}

/// `message.delete`
public struct MessageDelete: WireRequest, Equatable {
  public static let method = "message.delete"
  public typealias Reply = Empty

  /// The id of the conversation.
  public var conversation: String
  /// The id that the send was answered with.
  public var message: String

  public init(conversation: String, message: String) {
    self.conversation = conversation
    self.message = message
  }
}

/// `message.settled`: everything about a person's message has been said. For messengers with `outcomes`.
public struct MessageSettled: WireRequest, Equatable {
  public static let method = "message.settled"
  public typealias Reply = Empty

  /// The way in which a person's message ended.
  public enum Outcome: String, Codable, Sendable {
    case answered, stopped, failed
    /// A command of the relay or the agent, carried out.
    case handled
  }

  /// The id of the conversation.
  public var conversation: String
  /// The platform's id of the person's message; `command:` or `action:` and an id for a native command or the press of
  /// a button.
  public var message: String
  /// The way in which the message ended.
  public var outcome: Outcome

  public init(conversation: String, message: String, outcome: Outcome) {
    self.conversation = conversation
    self.message = message
    self.outcome = outcome
  }
}

/// `message.lookup`: finds the result of a send whose outcome is unknown.
public struct MessageLookup: WireRequest, Equatable {
  public static let method = "message.lookup"
  public static let replyForm = "{message?: string}"

  /// The answer of `message.lookup`.
  public struct Reply: Codable, Sendable, Equatable {
    /// The platform's id of the message; `nil` when no message has this key.
    public var message: String?
    public init(message: String?) { self.message = message }
  }

  /// The id of the conversation that the message was sent to.
  public var conversation: String
  /// The key of the send.
  public var key: String

  public init(conversation: String, key: String) {
    self.conversation = conversation
    self.key = key
  }
}

/// `file.send`: a file beneath the instance's spool folder.
public struct FileSend: WireRequest, Equatable {
  public static let method = "file.send"
  public typealias Reply = Receipt

  /// Idempotency key: the same key never makes two messages.
  public var key: String
  /// The id of the conversation.
  public var conversation: String
  /// The file's absolute path, beneath the instance's spool folder.
  public var path: String
  /// The name that people are shown.
  public var name: String
  /// The MIME type; `nil` where it is not known.
  public var mime: String?
  /// A text to show with the file; `nil` for none.
  public var caption: String?

  public init(
    key: String, conversation: String, path: String, name: String, mime: String? = nil, caption: String? = nil
  ) {
    self.key = key
    self.conversation = conversation
    self.path = path
    self.name = name
    self.mime = mime
    self.caption = caption
  }
}
