@_exported public import RelayJSON
@_exported public import RelayWire

/// A plugin of pi-relay. Conform a type, mark it `@main`, and drop the executable into the plugin folder.
///
/// A messenger implements `run` and `send`, and what else its capabilities promise; a service implements its one or two
/// requests. Requests may arrive while earlier ones are being handled.
public protocol Plugin: Sendable {
  /// The plugin's name, for logs and status.
  static var name: String { get }
  /// The plugin's own version, for logs and status; `0` unless implemented.
  static var version: String { get }
  /// The kinds of work that the plugin does; a messenger's unless implemented.
  static var kinds: [PluginKind] { get }

  /// Takes the configuration. Do not connect yet: `run` does.
  ///
  /// - Throws: `ConfigurationProblems` when the configuration is not usable; the person is shown them with their
  ///   place in the file. Anything else counts as a crash.
  init(_ host: Host) async throws

  /// Everything that this instance can do. Asked once, before `run`.
  var capabilities: Capabilities { get async }

  /// The plugin's own work, for example reading from its platform; cancelled at shutdown.
  func run() async throws

  /// Asks the person for the settings, tries them, and returns them. Called in a process of its own.
  ///
  /// - Parameter known: settings that the configuration or the command has already.
  static func setUp(_ dialogue: SetupDialogue, known: JSONValue) async throws -> SetupReply

  /// Checks whether a configuration works. Called in a process of its own.
  ///
  /// - Throws: the failed findings: each of `ConfigurationProblems`, or the error's description.
  static func check(_ request: CheckRequest) async throws -> [CheckRequest.Finding]

  // The host's requests. Each answers `methodNotFound` unless implemented. A `DeliveryFailure` or `WireError` that is
  // thrown is the answer; any other error becomes `internalError`.

  /// Sends a message, once for each key. For every messenger.
  func send(_ request: MessageSend) async throws -> Receipt
  /// Replaces a message's text. For a messenger with `edit`.
  func edit(_ request: MessageEdit) async throws -> EditReceipt
  /// Deletes a message that was sent.
  func delete(_ request: MessageDelete) async throws
  /// Takes note of how a person's message ended. For a messenger with `outcomes`.
  func settled(_ request: MessageSettled) async throws
  /// Finds the message of a key. For a messenger with `lookup`.
  func lookup(_ request: MessageLookup) async throws -> MessageLookup.Reply
  /// Sends a file, once for each key. For a messenger with `maximumFileBytes`.
  func sendFile(_ request: FileSend) async throws -> Receipt
  /// Shows a question, once for each key. For a messenger with `buttons`.
  func showDialog(_ request: DialogShow) async throws -> Receipt
  /// Replaces a question that is over.
  func closeDialog(_ request: DialogClose) async throws
  /// Reserved: this version of the host does not call it.
  func setReaction(_ request: ReactionSet) async throws
  /// Shows that the agent works, or no longer does. For a messenger with `typing`.
  func setTyping(_ request: TypingSet) async throws
  /// Makes a thread, once for each key. For a messenger with `threads`.
  func createThread(_ request: ThreadCreate) async throws -> ThreadCreate.Reply
  /// Finds the direct messages with a person. For a messenger with `directMessages`.
  func openConversation(_ request: ConversationOpen) async throws -> ConversationOpen.Reply
  /// Shows the bot's activity. For a messenger with `presence`.
  func setPresence(_ request: PresenceSet) async throws
  /// Replaces the menu of commands. For a messenger with `commandsMenu`.
  func commandsChanged(_ request: CommandsChanged) async throws
  /// Renders Markdown. For a service with `format.render`.
  func render(_ request: FormatRender) async throws -> FormatRender.Reply
  /// Describes tool calls. For a service with `format.tool`.
  func describeTools(_ request: FormatTool) async throws -> FormatTool.Reply
  /// Prepares files for a model. For a service with `attachments.prepare`.
  func prepareAttachments(_ request: AttachmentsPrepare) async throws -> AttachmentsPrepare.Reply

  /// Finishes work in progress; no new request follows. Messages that were not acknowledged will be received again.
  func shutdown() async
}

/// Complaints about the configuration, each with the path it is about.
public struct ConfigurationProblems: Error, Sendable, Equatable, CustomStringConvertible {
  /// The complaints, in the order in which the person is shown them.
  public var problems: [ConfigurationProblem]

  /// All of them in a line.
  public var description: String { problems.map { "\($0.path) \($0.message)" }.joined(separator: "; ") }

  public init(_ problems: [ConfigurationProblem] = []) { self.problems = problems }

  /// Makes the list of one complaint.
  ///
  /// - Parameters:
  ///   - path: dotted, relative to the instance's configuration subtree.
  ///   - message: worded to follow the path: `is missing`.
  public init(path: String, _ message: String) {
    problems = [ConfigurationProblem(path: path, message: message)]
  }

  /// Adds a complaint where a setting is not as it must be.
  public mutating func require(_ isGood: Bool, _ path: String, _ message: String) {
    if !isGood { problems.append(ConfigurationProblem(path: path, message: message)) }
  }

  /// Adds a complaint for each item of a list that is not as it must be.
  public mutating func require<Item>(
    each list: [Item]?, _ path: String, _ message: String, _ isGood: (Item) -> Bool
  ) {
    for (index, item) in (list ?? []).enumerated() { require(isGood(item), "\(path).\(index)", message) }
  }

  /// - Throws: itself, unless there is no complaint.
  public func throwIfAny() throws(Self) { if !problems.isEmpty { throw self } }
}

extension Plugin {
  public static var version: String { "0" }
  public static var kinds: [PluginKind] { [.messenger] }

  public static func setUp(_ dialogue: SetupDialogue, known: JSONValue) async throws -> SetupReply {
    throw unsupported(SetupRequest.method)
  }
  public static func check(_ request: CheckRequest) async throws -> [CheckRequest.Finding] {
    throw unsupported(CheckRequest.method)
  }
  public func run() async throws {}
  public func shutdown() async {}

  private static func unsupported(_ method: String) -> WireError {
    WireError(.methodNotFound, "\(name) does not do \(method)")
  }

  public func send(_ request: MessageSend) async throws -> Receipt { throw Self.unsupported(MessageSend.method) }
  public func edit(_ request: MessageEdit) async throws -> EditReceipt { throw Self.unsupported(MessageEdit.method) }
  public func delete(_ request: MessageDelete) async throws { throw Self.unsupported(MessageDelete.method) }
  public func settled(_ request: MessageSettled) async throws { throw Self.unsupported(MessageSettled.method) }
  public func lookup(_ request: MessageLookup) async throws -> MessageLookup.Reply {
    throw Self.unsupported(MessageLookup.method)
  }
  public func sendFile(_ request: FileSend) async throws -> Receipt { throw Self.unsupported(FileSend.method) }
  public func showDialog(_ request: DialogShow) async throws -> Receipt { throw Self.unsupported(DialogShow.method) }
  public func closeDialog(_ request: DialogClose) async throws { throw Self.unsupported(DialogClose.method) }
  public func setReaction(_ request: ReactionSet) async throws { throw Self.unsupported(ReactionSet.method) }
  public func setTyping(_ request: TypingSet) async throws { throw Self.unsupported(TypingSet.method) }
  public func createThread(_ request: ThreadCreate) async throws -> ThreadCreate.Reply {
    throw Self.unsupported(ThreadCreate.method)
  }
  public func openConversation(_ request: ConversationOpen) async throws -> ConversationOpen.Reply {
    throw Self.unsupported(ConversationOpen.method)
  }
  public func setPresence(_ request: PresenceSet) async throws { throw Self.unsupported(PresenceSet.method) }
  public func commandsChanged(_ request: CommandsChanged) async throws {
    throw Self.unsupported(CommandsChanged.method)
  }
  public func render(_ request: FormatRender) async throws -> FormatRender.Reply {
    throw Self.unsupported(FormatRender.method)
  }
  public func describeTools(_ request: FormatTool) async throws -> FormatTool.Reply {
    throw Self.unsupported(FormatTool.method)
  }
  public func prepareAttachments(_ request: AttachmentsPrepare) async throws -> AttachmentsPrepare.Reply {
    throw Self.unsupported(AttachmentsPrepare.method)
  }
}
