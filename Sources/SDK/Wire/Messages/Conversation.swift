/// A place where people talk: a direct message, a channel or a thread.
public struct Conversation: Codable, Sendable, Hashable {
  /// The kind of a place: direct messages, a channel, or a thread, which has a `parent`.
  public enum Kind: String, Codable, Sendable { case dm, channel, thread }

  /// The platform's id, unique within the messenger's instance.
  public var id: String
  /// The kind; the host gives the agent the sender's name only in channels and threads.
  public var kind: Kind
  /// The channel a thread belongs to.
  public var parent: String?
  /// The platform's name for the place; `nil` where there is none.
  public var title: String?
  /// The working directory of a session that begins here. Read only from a terminal of the daemon's own user.
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

/// The author of a message, or the person who used a button, command or reaction.
public struct Sender: Codable, Sendable, Hashable {
  /// The platform's id, which `auth.users` may list.
  public var id: String
  /// The name that people and the agent are shown.
  public var name: String
  /// The platform's roles of the sender, which `auth.roles` may list; `nil` counts as none.
  public var roles: [String]?
  /// The sender is a bot, which the host does not authorise.
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
  /// The platform's id of the file.
  public var id: String
  /// The file's name, as the platform states it.
  public var name: String
  /// The MIME type, as the platform claims it; `nil` where it claims none.
  public var mime: String?
  /// In bytes, as the platform claims it.
  public var size: Int?
  /// The file's absolute path, beneath the instance's spool folder; `nil` for a file that is fetched from `url`.
  public var path: String?
  /// The address that the contents are fetched from, where there is no `path`.
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

/// The message that a person's message replies to.
public struct QuotedMessage: Codable, Sendable, Hashable {
  /// The platform's id of the quoted message.
  public var id: String
  /// The name of the quoted message's author; `nil` where the platform does not tell.
  public var sender: String?
  /// The quoted words, of which the agent is given at most 200 characters. With `nil` the agent is given no quotation.
  public var text: String?

  public init(id: String, sender: String? = nil, text: String? = nil) {
    self.id = id
    self.sender = sender
    self.text = text
  }
}
