/// The way a message came to be stored. Its stored id carries it: this type alone reads and writes such ids.
package enum MessageOrigin: Sendable, Equatable {
  /// A person wrote the message; the id is the platform's.
  case written(String)
  /// A person called a native command of the messenger; the id is the interaction's.
  case command(String)
  /// A person pressed a button or filled in a form; the id is the interaction's.
  case action(String)
  /// The assistant's periodic check found something for its owner; the id is the check's number.
  case heartbeat(String)
  /// Files came with the answer to a question; the id is the answer's.
  case filesOfAnswer(String)
  /// `/spawn` brought the first task of a new session; the id is the command's.
  case firstTask(String)
  /// A program gave the message to a session; the id is the program's.
  case program(String)

  private static let commandPrefix = "command:"
  private static let actionPrefix = "action:"
  private static let heartbeatPrefix = "heartbeat:"
  private static let filesPrefix = "files:"
  private static let taskPrefix = "task:"
  private static let programPrefix = "program:"

  /// - Parameter id: of a stored message.
  package init(id: String) {
    if id.hasPrefix(Self.commandPrefix) {
      self = .command(String(id.dropFirst(Self.commandPrefix.count)))
    } else if id.hasPrefix(Self.actionPrefix) {
      self = .action(String(id.dropFirst(Self.actionPrefix.count)))
    } else if id.hasPrefix(Self.heartbeatPrefix) {
      self = .heartbeat(String(id.dropFirst(Self.heartbeatPrefix.count)))
    } else if id.hasPrefix(Self.filesPrefix) {
      self = .filesOfAnswer(String(id.dropFirst(Self.filesPrefix.count)))
    } else if id.hasPrefix(Self.taskPrefix) {
      self = .firstTask(String(id.dropFirst(Self.taskPrefix.count)))
    } else if id.hasPrefix(Self.programPrefix) {
      self = .program(String(id.dropFirst(Self.programPrefix.count)))
    } else {
      self = .written(id)
    }
  }

  /// The id under which the message is stored.
  package var id: String {
    switch self {
    case .written(let id): id
    case .command(let id): Self.commandPrefix + id
    case .action(let id): Self.actionPrefix + id
    case .heartbeat(let number): Self.heartbeatPrefix + number
    case .filesOfAnswer(let answer): Self.filesPrefix + answer
    case .firstTask(let command): Self.taskPrefix + command
    case .program(let id): Self.programPrefix + id
    }
  }

  /// True for native commands and pressed buttons, whose messenger waits for a reply of its own kind.
  package var isInteraction: Bool {
    switch self {
    case .command, .action: true
    case .written, .heartbeat, .filesOfAnswer, .firstTask, .program: false
    }
  }

  package var isHeartbeat: Bool { if case .heartbeat = self { true } else { false } }
}

extension MessageKey {
  package var origin: MessageOrigin { MessageOrigin(id: id) }
}
