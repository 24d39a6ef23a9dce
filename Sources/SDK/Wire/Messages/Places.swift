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

/// `conversation.open`: finds the direct messages with a person, who may not have written yet.
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

/// `presence.set`: the text that the bot shows as its activity.
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

  /// A command of the menu.
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

  /// All commands; they replace the previous menu.
  public var commands: [Command]

  public init(commands: [Command]) { self.commands = commands }
}
