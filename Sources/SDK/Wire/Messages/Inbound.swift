public import RelayJSON

/// `message.received`: a person wrote something. Answered once it is stored; unique by (instance, conversation, id).
public struct MessageReceived: WireRequest, Equatable {
  public static let method = "message.received"
  public static let replyForm = "{stored: boolean, refused?: boolean}"

  /// The answer of `message.received`, `command.invoked` and `action.invoked`.
  public struct Reply: Codable, Sendable, Equatable {
    /// False when this message had been received before, is not meant for the bot, or its sender is not allowed.
    public var stored: Bool
    /// The sender is not allowed; a native command or a button is answered so by the plugin.
    public var refused: Bool?

    public init(stored: Bool, refused: Bool? = nil) {
      self.stored = stored
      self.refused = refused
    }
  }

  /// The platform's id. A message that is handed over again has the same id, and no other message of the conversation
  /// has the id.
  public var id: String
  /// Seconds since 1970.
  public var time: Double?
  /// The place where the message was written.
  public var conversation: Conversation
  /// The author, who is authorised before anything is stored.
  public var sender: Sender
  /// The words, at most 1 MiB of UTF-8: the host answers `invalidParams` to more.
  public var text: String
  /// The bot was addressed by name.
  public var mention: Bool?
  /// The message that this one replies to; `nil` where it replies to none.
  public var replyTo: QuotedMessage?
  /// The files that came with the message, at most 32: the host answers `invalidParams` to more.
  public var attachments: [Attachment]?
  /// The text is another person's: the agent is told so, and no command in it is carried out.
  public var forwarded: Bool?
  /// The plugin's new state, committed together with the message.
  public var state: JSONValue?

  public init(
    id: String, time: Double? = nil, conversation: Conversation, sender: Sender, text: String, mention: Bool? = nil,
    replyTo: QuotedMessage? = nil, attachments: [Attachment]? = nil, forwarded: Bool? = nil, state: JSONValue? = nil
  ) {
    self.id = id
    self.time = time
    self.conversation = conversation
    self.sender = sender
    self.text = text
    self.mention = mention
    self.replyTo = replyTo
    self.attachments = attachments
    self.forwarded = forwarded
    self.state = state
  }
}

/// `message.edited`: a prompt that has not started yet is replaced.
public struct MessageEdited: WireRequest, Equatable {
  public static let method = "message.edited"
  public typealias Reply = Empty

  /// The platform's id of the message that was changed.
  public var id: String
  /// The place of the message.
  public var conversation: Conversation
  /// The person who changed the message. Without authorisation the change has no effect.
  public var sender: Sender
  /// The whole new text, at most 1 MiB of UTF-8: the host answers `invalidParams` to more.
  public var text: String

  public init(id: String, conversation: Conversation, sender: Sender, text: String) {
    self.id = id
    self.conversation = conversation
    self.sender = sender
    self.text = text
  }
}

/// `message.deleted`: a prompt that has not started yet is withdrawn.
public struct MessageDeleted: WireRequest, Equatable {
  public static let method = "message.deleted"
  public typealias Reply = Empty

  /// The platform's id of the message that was deleted.
  public var id: String
  /// The place of the message.
  public var conversation: Conversation
  /// The person who deleted the message. With `nil`, where the platform does not tell, the message is withdrawn without
  /// authorisation.
  public var sender: Sender?

  public init(id: String, conversation: Conversation, sender: Sender? = nil) {
    self.id = id
    self.conversation = conversation
    self.sender = sender
  }
}

/// `command.invoked`: a native command of the platform. Its answer arrives as messages.
public struct CommandInvoked: WireRequest, Equatable {
  public static let method = "command.invoked"
  public static let replyForm = MessageReceived.replyForm
  public typealias Reply = MessageReceived.Reply

  /// The platform's id of the use of the command. Messages that answer the command have `replyTo`: `command:` and this
  /// id.
  public var id: String
  /// The place where the command was used.
  public var conversation: Conversation
  /// The person who used the command.
  public var sender: Sender
  /// Without the slash.
  public var name: String
  /// The rest of the command line; `nil` where there is none.
  public var arguments: String?

  public init(id: String, conversation: Conversation, sender: Sender, name: String, arguments: String? = nil) {
    self.id = id
    self.conversation = conversation
    self.sender = sender
    self.name = name
    self.arguments = arguments
  }
}

/// `command.complete`: completions for a command line typed so far.
public struct CommandComplete: WireRequest, Equatable {
  public static let method = "command.complete"
  public static let replyForm = "{completions: [string]}"

  /// The answer of `command.complete`.
  public struct Reply: Codable, Sendable, Equatable {
    /// Whole command lines for the text; none for a sender who is not authorised.
    public var completions: [String]
    public init(completions: [String]) { self.completions = completions }
  }

  /// The place where the command is typed.
  public var conversation: Conversation
  /// The person who types the command.
  public var sender: Sender
  /// With the slash.
  public var text: String

  public init(conversation: Conversation, sender: Sender, text: String) {
    self.conversation = conversation
    self.sender = sender
    self.text = text
  }
}

/// `action.invoked`: a button was pressed, or a form filled in.
public struct ActionInvoked: WireRequest, Equatable {
  public static let method = "action.invoked"
  public static let replyForm = MessageReceived.replyForm
  public typealias Reply = MessageReceived.Reply

  /// The platform's id of the press. Messages that answer the press have `replyTo`: `action:` and this id.
  public var id: String
  /// The place where the button was pressed.
  public var conversation: Conversation
  /// The person who pressed the button.
  public var sender: Sender
  /// The opaque id given to the button; for a form, the dialog's.
  public var action: String
  /// The platform's id of the message that bears the button.
  public var message: String?
  /// The text that was written into a form, at most 1 MiB of UTF-8; `nil` for a button.
  public var text: String?

  public init(
    id: String, conversation: Conversation, sender: Sender, action: String, message: String? = nil,
    text: String? = nil
  ) {
    self.id = id
    self.conversation = conversation
    self.sender = sender
    self.action = action
    self.message = message
    self.text = text
  }
}

/// `conversation.closed`: the place no longer exists or was archived.
public struct ConversationClosed: WireRequest, Equatable {
  public static let method = "conversation.closed"
  public typealias Reply = Empty

  /// The place; the session of a thread sleeps until the thread's next message.
  public var conversation: Conversation
  /// It is gone for good.
  public var deleted: Bool?

  public init(conversation: Conversation, deleted: Bool? = nil) {
    self.conversation = conversation
    self.deleted = deleted
  }
}

/// `conversation.reopened`: it is back.
public struct ConversationReopened: WireRequest, Equatable {
  public static let method = "conversation.reopened"
  public typealias Reply = Empty

  /// The place that is back.
  public var conversation: Conversation

  public init(conversation: Conversation) {
    self.conversation = conversation
  }
}

/// `reaction.added`: a person put a mark on a message.
public struct ReactionAdded: WireRequest, Equatable {
  public static let method = "reaction.added"
  public typealias Reply = Empty

  /// The place of the message.
  public var conversation: Conversation
  /// The person who put the mark.
  public var sender: Sender
  /// The platform's id of the message.
  public var message: String
  /// The mark, for example `👍`.
  public var reaction: String

  public init(conversation: Conversation, sender: Sender, message: String, reaction: String) {
    self.conversation = conversation
    self.sender = sender
    self.message = message
    self.reaction = reaction
  }
}
