import Formatter
import Glibc
import RelayTransport
import RelayWire

/// Chat without a terminal: messages from standard input, one a line, and the answers on standard output. Notices are
/// printed there only after a command, which they answer, and otherwise on standard error.
actor PlainChat: ChatScreen {
  private var texts: [String: String] = [:]
  private var unsettled: [String] = []
  private var failed = false
  var hasFailed: Bool { failed }
  private var lastOutcome: MessageSettled.Outcome?
  /// The dialog that waits for an answer, and whether it was opened since the last line was said.
  private var openDialog: (id: String, text: String)?
  private var isAsked = false
  private var isCommand = false
  private var waiting: CheckedContinuation<Void, Never>?
  private(set) var answer = ""
  /// The last notice, which explains a failure.
  private(set) var lastNotice: String?
  /// The agent's open question.
  var question: String? { openDialog?.text }
  private var roles: [String: MessageRole] = [:]

  private let prints: Bool
  private let text: ChatText
  nonisolated let dialect: String

  init(prints: Bool, environment: [String: String]) {
    self.prints = prints
    text = ChatText(environment: environment)
    dialect = prints ? text.dialect : "plain"
  }

  func show(_ message: MessageSend, id: String) {
    roles[id] = message.role
    guard message.streaming == true else {
      print(message.text, message.role)
      if message.role == .dialog {
        openDialog = (id, message.text)
        isAsked = true
        wake()
      } else if message.role == .notice, openDialog != nil {
        // The line was no answer, and waits: the question is still the person's to answer.
        isAsked = true
        wake()
      }
      return
    }
    texts[id] = message.text
  }

  func change(_ message: MessageEdit) {
    guard message.streaming != true else {
      texts[message.message] = message.text
      return
    }
    texts[message.message] = nil
    if openDialog?.id == message.message { openDialog = nil }
    print(message.text, roles[message.message] ?? .answer)
  }

  func remove(_ message: MessageDelete) { texts[message.message] = nil }

  /// A line is about to be said.
  func begin(_ line: String) { isCommand = line.hasPrefix("/") }

  func typing(_ active: Bool) {}

  func connected(_ isConnected: Bool) {}

  func settled(_ message: MessageSettled) {
    unsettled.removeAll { $0 == message.message }
    settledEarly.insert(message.message)
    lastOutcome = message.outcome
    outcomes[message.message] = message.outcome
    if message.outcome == .failed { failed = true }
    wake()
  }

  func daemonReplaced() {
    guard !unsettled.isEmpty else { return }
    StandardError.say(
      "pi-relayd was restarted, and the outcome of the message is not known. Send it again if no answer came."
    )
    unsettled = []
    failed = true
    lastOutcome = .failed
    lastNotice = "pi-relayd was restarted, and the outcome of the message is not known"
    wake()
  }

  /// Ids that were settled before they were waited for.
  private var settledEarly: Set<String> = []

  private func wake() {
    waiting?.resume()
    waiting = nil
  }

  private var outcomes: [String: MessageSettled.Outcome] = [:]

  func outcome(of message: String) -> MessageSettled.Outcome? { outcomes[message] }

  /// Waits until everything said so far is settled, or the agent asks something, or still asks what this did not answer:
  /// then it is the person's turn.
  func turn(after message: String) async -> MessageSettled.Outcome? {
    isAsked = false
    if settledEarly.remove(message) == nil { unsettled.append(message) }
    while !unsettled.isEmpty, openDialog == nil || !isAsked && unsettled.contains(message) {
      await withCheckedContinuation { waiting = $0 }
    }
    return lastOutcome
  }

  /// Waits until everything said is settled, or a question is open; answers whether one is.
  func asksBeforeItsEnd() async -> Bool {
    while !unsettled.isEmpty, openDialog == nil { await withCheckedContinuation { waiting = $0 } }
    return !unsettled.isEmpty
  }

  private func print(_ text: String, _ role: MessageRole?) {
    if role == .notice { lastNotice = text }
    if role == .answer { answer += (answer.isEmpty ? "" : "\n") + text }
    guard prints else { return }
    let lines = self.text.lines(of: text, role)
    let bytes = Array(lines.map { $0.text + "\n" }.joined().utf8)
    _ = write(role == .notice && !isCommand ? 2 : 1, bytes, bytes.count)
  }
}
