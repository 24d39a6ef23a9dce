package import RelayWire

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

  /// Indicates that the shown text is yet to change: a message that grows, a question that waits.
  package var isOpen: Bool {
    switch request {
    case .message(let message): message.streaming == true
    case .dialog: true
    case .edit, .file, .close: false
    }
  }

  /// A record of an earlier version, which stored the key of an answer before its words.
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

/// An outbound message that an earlier daemon sent, or was about to send, and did not finish.
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

/// The number of failed tries of a send, and the wait until the next.
package struct SendTries: Sendable, Equatable {
  package var failed: Int
  package var wait: Duration

  package init(failed: Int = 0, wait: Duration = .zero) {
    self.failed = failed
    self.wait = wait
  }
}

/// The numbers of sends to an instance that wait, and that failed.
package struct DeliveryCount: Sendable, Equatable {
  package var instance: String
  package var waiting: Int
  package var failed: Int
  /// The reason why the last of these failed.
  package var lastFailure: String?

  package init(instance: String, waiting: Int, failed: Int, lastFailure: String? = nil) {
    self.instance = instance
    self.waiting = waiting
    self.failed = failed
    self.lastFailure = lastFailure
  }
}

package enum OutboundResult: Sendable, Equatable {
  case sent(message: String)
  case failed(String)
  /// Nobody wants it any more: its messenger will not be back, or something else took its place.
  case abandoned
}
