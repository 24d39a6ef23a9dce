package import RelayWire

/// A conversation on one messenger instance.
package struct ConversationKey: Hashable, Sendable, Codable, CustomStringConvertible {
  package var instance: String
  package var conversation: String

  package init(instance: String, conversation: String) {
    self.instance = instance
    self.conversation = conversation
  }

  package var description: String { "\(instance):\(conversation)" }
}

/// A message is known by where it came from and the platform's own id.
package struct MessageKey: Hashable, Sendable, Codable {
  package var conversation: ConversationKey
  package var id: String

  package init(conversation: ConversationKey, id: String) {
    self.conversation = conversation
    self.id = id
  }
}

/// How far a message has come. Every one ends as settled, interrupted or dropped.
package enum MessageStage: Sendable, Equatable {
  case received
  /// A command, or the answer to a question, is being carried out.
  case handling
  /// Handed to the agent; whether it took it is not known yet. `after` is the session's last entry before it.
  case dispatching(session: String, after: String?)
  case accepted(session: String)
  case settled
  case interrupted
  case dropped

  package var isFinal: Bool {
    switch self {
    case .settled, .interrupted, .dropped: true
    case .received, .handling, .dispatching, .accepted: false
    }
  }
}

/// A message that is stored as on its way to a session's agent.
package struct OnItsWay: Sendable, Hashable {
  package var message: MessageKey
  /// What is stored as the session's last entry before it.
  package var last: String

  package init(message: MessageKey, last: String) {
    self.message = message
    self.last = last
  }
}

/// Whether a session has a message.
package enum Holding: Sendable { case yes, no, unknown }

package struct StoredMessage: Sendable, Equatable {
  package var key: MessageKey
  package var message: MessageReceived
  /// A question waited for an answer when it came.
  package var isAnswer: Bool

  package init(key: MessageKey, message: MessageReceived, isAnswer: Bool = false) {
    self.key = key
    self.message = message
    self.isAnswer = isAnswer
  }
}

/// A message that has not ended.
package struct UnfinishedMessage: Sendable, Equatable {
  package var stored: StoredMessage
  package var stage: MessageStage
  /// The session it is for, where the conversation has turned to another since.
  package var session: String?
  /// The person has taken it back while it waited.
  package var isWithdrawn = false
}

/// Something to be shown, in its conversation's order.
package struct OutboundRecord: Sendable, Equatable {
  /// The request as the plugin gets it; it bears the key.
  package enum Request: Sendable, Equatable {
    case message(MessageSend)
    /// The last change of a message that was shown while it grew: it says the same however often it is sent.
    case edit(MessageEdit)
    case file(FileSend)
    case dialog(DialogShow)
    case close(DialogClose)
  }

  package var key: String
  package var conversation: ConversationKey
  package var request: Request

  package init(key: String, conversation: ConversationKey, request: Request) {
    self.key = key
    self.conversation = conversation
    self.request = request
  }

  /// What it shows is to be changed yet: a message that grows, a question that waits.
  package var isOpen: Bool {
    switch request {
    case .message(let message): message.streaming == true
    case .dialog: true
    case .edit, .file, .close: false
    }
  }

  /// Of an earlier version, which recorded the key of an answer before its words.
  package var hasKeyOnly: Bool {
    guard case .message(let message) = request else { return false }
    return message.streaming == true && message.text.isEmpty
  }

  /// The same, with nothing to come.
  package var complete: OutboundRecord {
    guard case .message(var message) = request else { return self }
    message.streaming = nil
    return OutboundRecord(key: key, conversation: conversation, request: .message(message))
  }
}

/// What an earlier daemon sent, or was about to send, and did not bring to its end.
package struct UnfinishedOutbound: Sendable, Equatable {
  package var record: OutboundRecord
  /// The platform's id, where it is known to have arrived: then it is still open.
  package var message: String?
  package var tries: SendTries

  package init(record: OutboundRecord, message: String? = nil, tries: SendTries = SendTries()) {
    self.record = record
    self.message = message
    self.tries = tries
  }
}

/// How often something was tried to be sent in vain, and how long until the next try.
package struct SendTries: Sendable, Equatable {
  package var failed: Int
  package var wait: Duration

  package init(failed: Int = 0, wait: Duration = .zero) {
    self.failed = failed
    self.wait = wait
  }
}

/// What is being sent to an instance, and what was not.
package struct DeliveryCount: Sendable, Equatable {
  package var instance: String
  package var waiting: Int
  package var failed: Int
  /// Why the last of these failed.
  package var lastFailure: String?
}

/// A message and how it ended.
package struct MessageEnd: Sendable, Equatable {
  package var key: MessageKey
  package var stage: MessageStage
  /// What its messenger is to be told.
  package var outcome: MessageSettled.Outcome

  package init(_ key: MessageKey, _ stage: MessageStage, _ outcome: MessageSettled.Outcome) {
    self.key = key
    self.stage = stage
    self.outcome = outcome
  }

  /// What native commands and pressed buttons are stored under, before their own ids.
  package static let commandPrefix = "command:"
  package static let actionPrefix = "action:"

  /// The native command or the press of a button that has ended, as messengers know it.
  package var interaction: String? { Self.isInteraction(key.id) ? key.id : nil }

  package static func isInteraction(_ id: String) -> Bool { id.hasPrefix(commandPrefix) || id.hasPrefix(actionPrefix) }
}

package enum OutboundResult: Sendable, Equatable {
  case sent(message: String)
  case failed(String)
  /// Nobody wants it any more: its messenger will not be back, or something else took its place.
  case abandoned
}

/// How a plugin that ends again and again is held back.
package struct Backoff: Sendable, Equatable {
  /// Ends in a row.
  package var failures: Int
  /// Until its next start.
  package var wait: Duration

  package init(failures: Int, wait: Duration) {
    self.failures = failures
    self.wait = wait
  }
}

/// A session as it must be found again: pi keeps what was said in it.
package struct SessionRecord: Sendable, Equatable {
  package var id: String
  package var name: String
  package var directory: String
  package var model: String?
  package var wantsToolImages: Bool
  package var role: SessionRole?
  /// People have been told that the demo agent answers.
  package var knowsDemo: Bool
  /// The conversation that began it.
  package var home: ConversationKey?
  /// The model that its agent named last, as people are shown it.
  package var shownModel: String?

  package init(
    id: String, name: String, directory: String, model: String?, wantsToolImages: Bool, role: SessionRole? = nil,
    knowsDemo: Bool = false, home: ConversationKey? = nil, shownModel: String? = nil
  ) {
    self.id = id
    self.name = name
    self.directory = directory
    self.model = model
    self.wantsToolImages = wantsToolImages
    self.role = role
    self.knowsDemo = knowsDemo
    self.home = home
    self.shownModel = shownModel
  }
}

/// What a session is for, where it is not for working with.
package enum SessionRole: String, Sendable {
  /// Of a conversation with the assistant.
  case assistant
  /// The same, with the one whose assistant it is.
  case owner
}

/// A conversation and the session it talks to.
package struct Binding: Sendable, Equatable {
  package var key: ConversationKey
  package var conversation: Conversation
  package var session: String

  package init(key: ConversationKey, conversation: Conversation, session: String) {
    self.key = key
    self.conversation = conversation
    self.session = session
  }
}
