internal import MessageDelivery
internal import RelayConfig
package import RelayModel
internal import RelayStore
package import RelayWire

/// What a conversation is in the middle of showing, for the next program of this process.
package struct ConversationHandover: Codable, Sendable {
  package var key: ConversationKey
  package var conversation: Conversation
  /// The session it watches, and what it is shown of it.
  package var session: String?
  package var view: SessionWatchers.View?
  package var capabilities: Capabilities
  package var settings: ConversationOutput.Settings
  var stream: StreamedText
  var streamNumber: Int
  var running: [String: FormatTool.Call]
  var finished: [FormatTool.Call]
  var progress: [String: Delivery.Sent]
  var dialogs: [String: Delivery.Sent]
  var isIncomplete: Bool

  /// What it was sent under is to be changed by who goes on with it.
  package var keys: Set<String> {
    Set([stream.key].compactMap(\.self) + progress.values.map(\.key) + dialogs.values.map(\.key))
  }
}

extension ConversationOutput {
  /// Says nothing more until `resume`; nil when it is saying something.
  package func hold(
    _ conversation: Conversation, session: String?, view: SessionWatchers.View
  ) -> ConversationHandover? {
    guard isQuiet else { return nil }
    isHeld = true
    return ConversationHandover(
      key: key, conversation: conversation, session: session, view: view, capabilities: capabilities,
      settings: settings,
      stream: stream, streamNumber: streamNumber, running: running, finished: finished, progress: progress,
      dialogs: dialogs, isIncomplete: isIncomplete)
  }

  package func resume() {
    isHeld = false
    whenResumed?.resume()
    whenResumed = nil
  }

  package func adopt(_ handover: ConversationHandover) {
    stream = handover.stream
    streamNumber = handover.streamNumber
    running = handover.running
    finished = handover.finished
    progress = handover.progress
    dialogs = handover.dialogs
    isIncomplete = handover.isIncomplete
    if let key = stream.key {
      checkpoint = checkpoints.begin(key)
      checkpoint?.write(stream.source)
      if !stream.mark.isEmpty { checkpoint?.mark() }
    }
    // What had been put off is shown as soon as the messenger is back.
    if stream.isDirty, capabilities.edit == true { post(.flush(flushNumber)) }
  }
}
