import RelayWire

/// The turns of a script's chat: the messages that are not settled, and the agent's open question. A pure value.
struct ScriptTurns {
  private var unsettled: Set<String> = []
  /// Messages that were settled before the script waited for them.
  private var settledEarly: Set<String> = []
  private var outcomes: [String: MessageSettled.Outcome] = [:]
  private(set) var lastOutcome: MessageSettled.Outcome?
  private(set) var hasFailed = false
  private(set) var question: (id: String, text: String)?
  /// The question was asked since the last line was said, or is still open after it.
  private var isAsked = false

  /// Begins to wait for a message.
  mutating func begin(_ message: String) {
    isAsked = false
    if settledEarly.remove(message) == nil { unsettled.insert(message) }
  }

  /// Tells whether the script may say its next line: everything is settled, or the agent asks something, or still asks
  /// what this message did not answer.
  func isOver(_ message: String) -> Bool {
    unsettled.isEmpty || question != nil && (isAsked || !unsettled.contains(message))
  }

  /// Messages wait for their end.
  var isOpen: Bool { !unsettled.isEmpty }

  func outcome(of message: String) -> MessageSettled.Outcome? { outcomes[message] }

  mutating func ask(_ question: String, id: String) {
    self.question = (id, question)
    isAsked = true
  }

  /// A notice while a question is open: the line was no answer, and the question is still to be answered.
  mutating func noteNotice() { if question != nil { isAsked = true } }

  mutating func closeQuestion(_ id: String) { if question?.id == id { question = nil } }

  mutating func settle(_ message: String, _ outcome: MessageSettled.Outcome) {
    if unsettled.remove(message) == nil { settledEarly.insert(message) }
    lastOutcome = outcome
    outcomes[message] = outcome
    if outcome == .failed { hasFailed = true }
  }

  /// Gives up every message: the daemon that knew of them is gone.
  mutating func abandon() {
    unsettled = []
    hasFailed = true
    lastOutcome = .failed
  }
}
