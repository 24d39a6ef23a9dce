package import RelayModel
package import RelayWire

/// The state of what a conversation is showing, for the next program of this process.
package struct ConversationSnapshot: Codable, Sendable {
  package var key: ConversationKey
  package var conversation: Conversation
  /// The session it watches, and the part of it that it is shown.
  package var session: String?
  package var view: SessionSubscriptions.View?
  package var capabilities: Capabilities
  package var settings: ConversationOutput.Settings
  var answer: AnswerBuffer
  var tools: ToolProgress
  var questions: ShownQuestions
  var display: RunDisplay

  /// The keys of records that the next program changes.
  package var keys: Set<String> { tools.keys.union(questions.keys).union([answer.key].compactMap(\.self)) }
}
