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

/// `message.lookup`: what became of a send whose outcome is unknown.
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

/// `typing.set`: the agent works, or no longer does. The plugin renews the platform's indicator by itself.
public struct TypingSet: WireRequest, Equatable {
  public static let method = "typing.set"
  public typealias Reply = Empty

  /// The id of the conversation.
  public var conversation: String
  /// True while the agent works; the messenger renews its indicator until this is false.
  public var active: Bool

  public init(conversation: String, active: Bool) {
    self.conversation = conversation
    self.active = active
  }
}

/// `reaction.set`. Reserved: this version of the host does not send it.
public struct ReactionSet: WireRequest, Equatable {
  public static let method = "reaction.set"
  public typealias Reply = Empty

  /// The id of the conversation.
  public var conversation: String
  /// The platform's id of the message.
  public var message: String
  /// The mark, for example `👀`.
  public var reaction: String

  public init(conversation: String, message: String, reaction: String) {
    self.conversation = conversation
    self.message = message
    self.reaction = reaction
  }
}

/// `conversation.open`: the place of direct messages with somebody, who may not have written yet.
public struct ConversationOpen: WireRequest, Equatable {
  public static let method = "conversation.open"
  public static let replyForm = ThreadCreate.replyForm
  public typealias Reply = ThreadCreate.Reply

  /// The person's id.
  public var user: String

  public init(user: String) { self.user = user }
}

/// `thread.create`: a thread beneath a conversation.
public struct ThreadCreate: WireRequest, Equatable {
  public static let method = "thread.create"
  public static let replyForm = "{conversation: Conversation}"

  /// The answer of `thread.create` and `conversation.open`.
  public struct Reply: Codable, Sendable, Equatable {
    /// The place that was made or opened.
    public var conversation: Conversation

    public init(conversation: Conversation) {
      self.conversation = conversation
    }
  }

  /// Idempotency key: the same key never makes two threads.
  public var key: String
  /// The id of the conversation that the thread is made beneath.
  public var conversation: String
  /// The thread's title.
  public var title: String

  public init(key: String, conversation: String, title: String) {
    self.key = key
    self.conversation = conversation
    self.title = title
  }
}

/// `presence.set`: what the bot shows as its activity.
public struct PresenceSet: WireRequest, Equatable {
  public static let method = "presence.set"
  public typealias Reply = Empty

  /// The text of the activity; `nil` for none.
  public var text: String?

  public init(text: String?) {
    self.text = text
  }
}

/// `commands.changed`: the menu of commands, whole.
public struct CommandsChanged: WireRequest, Equatable {
  public static let method = "commands.changed"
  public typealias Reply = Empty

  /// One command of the menu.
  public struct Command: Codable, Sendable, Equatable {
    /// The name, without the slash.
    public var name: String
    /// A short description for the person.
    public var summary: String
    /// The form of the arguments, for example `<number|name>`; `nil` for a command without any.
    public var arguments: String?
    /// `command.complete` knows what its arguments may be.
    public var completes: Bool?

    public init(name: String, summary: String, arguments: String? = nil, completes: Bool? = nil) {
      self.name = name
      self.summary = summary
      self.arguments = arguments
      self.completes = completes
    }
  }

  /// All commands, which replace the menu that was told before.
  public var commands: [Command]

  public init(commands: [Command]) { self.commands = commands }
}
