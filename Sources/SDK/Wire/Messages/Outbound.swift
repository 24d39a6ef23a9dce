public struct Button: Codable, Sendable, Hashable {
  public enum Style: String, Codable, Sendable { case primary, secondary, success, danger }

  /// Opaque; comes back in `action.invoked`.
  public var id: String
  public var label: String
  public var style: Style?

  public init(id: String, label: String, style: Style? = nil) {
    self.id = id
    self.label = label
    self.style = style
  }
}

/// What became of a send: the platform's own id of the message.
public struct Receipt: Codable, Sendable, Equatable {
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

/// What a message is to the person who reads it. Lets a messenger style or mute it; an unknown one is plain text.
public struct MessageRole: RawRepresentable, Hashable, Codable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The agent's words.
  public static let answer = MessageRole(rawValue: "answer")
  /// Something the relay itself says: an acknowledgement, a command's output, a problem.
  public static let notice = MessageRole(rawValue: "notice")
  /// What tools did.
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
  public var conversation: String
  public var text: String
  public var role: MessageRole?
  /// `command:` or `action:` and the id of the native command or the press of a button that this answers.
  public var replyTo: String?
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

  public var conversation: String
  public var message: String
  public var text: String
  public var buttons: [[Button]]?
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

  public var conversation: String
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

  public enum Outcome: String, Codable, Sendable {
    case answered, stopped, failed
    /// A command of the relay or the agent, carried out.
    case handled
  }

  public var conversation: String
  /// The platform's id of the person's message.
  public var message: String
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

  public struct Reply: Codable, Sendable, Equatable {
    /// Nil: no message has this key.
    public var message: String?
    public init(message: String?) { self.message = message }
  }

  public var conversation: String
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

  public var key: String
  public var conversation: String
  public var path: String
  public var name: String
  public var mime: String?
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

  public enum Kind: String, Codable, Sendable { case confirm, select, input, editor }

  public var key: String
  public var conversation: String
  public var dialog: String
  public var kind: Kind
  public var text: String
  public var buttons: [[Button]]?
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

  public var conversation: String
  public var message: String
  public var dialog: String
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

  public var conversation: String
  public var active: Bool

  public init(conversation: String, active: Bool) {
    self.conversation = conversation
    self.active = active
  }
}

/// `reaction.set`
public struct ReactionSet: WireRequest, Equatable {
  public static let method = "reaction.set"
  public typealias Reply = Empty

  public var conversation: String
  public var message: String
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

/// `thread.create`
public struct ThreadCreate: WireRequest, Equatable {
  public static let method = "thread.create"
  public static let replyForm = "{conversation: Conversation}"

  public struct Reply: Codable, Sendable, Equatable {
    public var conversation: Conversation

    public init(conversation: Conversation) {
      self.conversation = conversation
    }
  }

  public var key: String
  public var conversation: String
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

  public var text: String?

  public init(text: String?) {
    self.text = text
  }
}

/// `commands.changed`: the menu of commands, whole.
public struct CommandsChanged: WireRequest, Equatable {
  public static let method = "commands.changed"
  public typealias Reply = Empty

  public struct Command: Codable, Sendable, Equatable {
    public var name: String
    public var summary: String
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

  public var commands: [Command]

  public init(commands: [Command]) { self.commands = commands }
}
