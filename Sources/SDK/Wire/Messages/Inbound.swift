/// A place where people talk: a direct message, a channel or a thread.
public struct Conversation: Codable, Sendable, Hashable {
  public enum Kind: String, Codable, Sendable { case dm, channel, thread }

  public var id: String
  public var kind: Kind
  /// The channel a thread belongs to.
  public var parent: String?
  public var title: String?
  /// Where a session begun here works. Heeded only from a terminal of the daemon's own user.
  public var directory: String?

  public init(
    id: String, kind: Kind = .dm, parent: String? = nil, title: String? = nil, directory: String? = nil
  ) {
    self.id = id
    self.kind = kind
    self.parent = parent
    self.title = title
    self.directory = directory
  }
}

public struct Sender: Codable, Sendable, Hashable {
  public var id: String
  public var name: String
  public var roles: [String]?
  public var bot: Bool?

  public init(id: String, name: String, roles: [String]? = nil, bot: Bool? = nil) {
    self.id = id
    self.name = name
    self.roles = roles
    self.bot = bot
  }
}

/// A file that came with a message: either `path`, beneath the instance's spool folder, or `url`.
public struct Attachment: Codable, Sendable, Hashable {
  public var id: String
  public var name: String
  public var mime: String?
  /// In bytes, as the platform claims it.
  public var size: Int?
  public var path: String?
  public var url: String?

  public init(
    id: String, name: String, mime: String? = nil, size: Int? = nil, path: String? = nil, url: String? = nil
  ) {
    self.id = id
    self.name = name
    self.mime = mime
    self.size = size
    self.path = path
    self.url = url
  }
}

public struct QuotedMessage: Codable, Sendable, Hashable {
  public var id: String
  public var sender: String?
  public var text: String?

  public init(id: String, sender: String? = nil, text: String? = nil) {
    self.id = id
    self.sender = sender
    self.text = text
  }
}

/// `message.received`: a person wrote something. Answered once it is stored; unique by (instance, conversation, id).
public struct MessageReceived: WireRequest, Equatable {
  public static let method = "message.received"
  public static let replyForm = "{stored: boolean, refused?: boolean}"

  public struct Reply: Codable, Sendable, Equatable {
    /// False when this message had been received before, or its sender is not allowed.
    public var stored: Bool
    /// The sender is not allowed; a native command or a button is answered so by the plugin.
    public var refused: Bool?

    public init(stored: Bool, refused: Bool? = nil) {
      self.stored = stored
      self.refused = refused
    }
  }

  public var id: String
  /// Seconds since 1970.
  public var time: Double?
  public var conversation: Conversation
  public var sender: Sender
  public var text: String
  /// The bot was addressed by name.
  public var mention: Bool?
  public var replyTo: QuotedMessage?
  public var attachments: [Attachment]?
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

  public var id: String
  public var conversation: Conversation
  public var sender: Sender
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

  public var id: String
  public var conversation: Conversation
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

  public var id: String
  public var conversation: Conversation
  public var sender: Sender
  /// Without the slash.
  public var name: String
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

  public struct Reply: Codable, Sendable, Equatable {
    public var completions: [String]
    public init(completions: [String]) { self.completions = completions }
  }

  public var conversation: Conversation
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

  public var id: String
  public var conversation: Conversation
  public var sender: Sender
  /// The opaque id given to the button; for a form, the dialog's.
  public var action: String
  /// The platform's id of the message that bears the button.
  public var message: String?
  /// What was written into a form.
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

  public var conversation: Conversation

  public init(conversation: Conversation) {
    self.conversation = conversation
  }
}

/// `reaction.added`: a person put a mark on a message.
public struct ReactionAdded: WireRequest, Equatable {
  public static let method = "reaction.added"
  public typealias Reply = Empty

  public var conversation: Conversation
  public var sender: Sender
  public var message: String
  public var reaction: String

  public init(conversation: Conversation, sender: Sender, message: String, reaction: String) {
    self.conversation = conversation
    self.sender = sender
    self.message = message
    self.reaction = reaction
  }
}

/// `problem.report`: what keeps a plugin that runs from its work, for `pi-relayd status` and the log.
public struct ProblemReport: WireRequest, Equatable {
  public static let method = "problem.report"
  public typealias Reply = Empty
  /// The host shows this many bytes of UTF-8 and cuts the rest: a long report is better than none.
  public static let maximumBytes = 4 * 1024

  /// What is wrong and what to do about it, in words for the person; nil once it is over. Forgotten with the plugin's life.
  public var problem: String?

  public init(problem: String?) { self.problem = problem }
}

/// `state.save`: keeps a small value that comes back at the next `initialize`.
public struct StateSave: WireRequest, Equatable {
  public static let method = "state.save"
  public typealias Reply = Empty
  /// Largest state, encoded, in bytes.
  public static let maximumBytes = 256 * 1024

  public var state: JSONValue

  public init(state: JSONValue) { self.state = state }
}
