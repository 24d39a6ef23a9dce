internal import MessageDelivery
package import RelayModel
package import RelayWire

/// What a conversation is in the middle of showing, for the next program of this process.
package struct ConversationHandover: Codable, Sendable {
  package var key: ConversationKey
  package var conversation: Conversation
  /// The session it watches, and the part of it that it is shown.
  package var session: String?
  package var view: SessionWatchers.View?
  package var capabilities: Capabilities
  package var settings: ConversationOutput.Settings
  var answer: AnswerBuffer
  var tools: ToolProgress
  var questions: ShownQuestions
  var display: RunDisplay

  /// The keys of records that the next program changes.
  package var keys: Set<String> { tools.keys.union(questions.keys).union([answer.key].compactMap(\.self)) }
}

extension ConversationOutput {
  /// Says nothing more until `resume`; nil when it is saying something.
  package func hold(
    _ conversation: Conversation, session: String?, view: SessionWatchers.View
  ) -> ConversationHandover? {
    guard isQuiet else { return nil }
    gate.close()
    return ConversationHandover(
      key: key, conversation: conversation, session: session, view: view, capabilities: profile.capabilities,
      settings: profile.settings, answer: answer, tools: tools, questions: questions, display: display)
  }

  package func resume() { gate.open() }

  package func adopt(_ handover: ConversationHandover) {
    answer = handover.answer
    tools = handover.tools
    questions = handover.questions
    display = handover.display
    if let key = answer.key {
      checkpoint = checkpoints.begin(key)
      checkpoint?.write(answer.source)
      if !answer.mark.isEmpty { checkpoint?.mark() }
    }
    // Text that had been put off is shown as soon as the messenger is back.
    if answer.isDirty, profile.editsMessages { showWhenPossible() }
  }
}
