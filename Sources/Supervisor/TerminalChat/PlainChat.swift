import Formatter
import Glibc
import RelayTransport
import RelayWire

/// Chat without a terminal: messages from standard input, one a line, and the answers on standard output.
///
/// Notices go to standard error, except those with which a command of the relay or the agent answers and succeeds.
actor PlainChat: ChatScreen {
  private var turns = ScriptTurns()
  private var texts: [String: String] = [:]
  private var roles: [String: MessageRole] = [:]
  /// The line that was said last begins as commands do.
  private var isCommand = false
  /// Notices since a command, until its outcome or an answer of the agent tells where they belong.
  private var heldNotices: [String] = []
  private var waiting: CheckedContinuation<Void, Never>?
  private(set) var answer = ""
  /// The last notice, which explains a failure.
  private(set) var lastNotice: String?

  private let prints: Bool
  private let write: @Sendable (Int32, String) -> Void
  private let text: ChatText
  nonisolated let dialect: String

  /// - Parameter write: writes to standard output or error, by the descriptor's number.
  init(
    prints: Bool, environment: [String: String],
    write: @escaping @Sendable (Int32, String) -> Void = { descriptor, text in
      let bytes = Array(text.utf8)
      _ = Glibc.write(descriptor, bytes, bytes.count)
    }
  ) {
    self.prints = prints
    self.write = write
    text = ChatText(environment: environment)
    dialect = prints ? text.dialect : "plain"
  }

  var hasFailed: Bool { turns.hasFailed }
  /// The agent's open question.
  var question: String? { turns.question?.text }

  /// The script has said something that is not settled.
  var awaitsOutcome: Bool { turns.isOpen }

  // MARK: - ChatScreen

  func show(_ message: MessageSend, id: String) {
    roles[id] = message.role
    guard message.streaming != true else {
      texts[id] = message.text
      return
    }
    print(message.text, message.role)
    switch message.role {
    case .dialog?: turns.ask(message.text, id: id)
    case .notice?: turns.noteNotice()
    default: break
    }
    wake()
  }

  func change(_ message: MessageEdit) {
    guard message.streaming != true else {
      texts[message.message] = message.text
      return
    }
    texts[message.message] = nil
    turns.closeQuestion(message.message)
    print(message.text, roles[message.message] ?? .answer)
  }

  func remove(_ message: MessageDelete) { texts[message.message] = nil }

  func typing(_ active: Bool) {}

  func connected(_ isConnected: Bool) {}

  func settled(_ message: MessageSettled) {
    turns.settle(message.message, message.outcome)
    releaseNotices(to: message.outcome == .handled ? STDOUT_FILENO : STDERR_FILENO)
    wake()
  }

  func daemonReplaced() {
    guard turns.isOpen else { return }
    releaseNotices(to: STDERR_FILENO)
    let notice = "pi-relayd was restarted, and the outcome of the message is not known"
    write(STDERR_FILENO, notice + ". Send it again if no answer came.\n")
    turns.abandon()
    lastNotice = notice
    wake()
  }

  // MARK: - The script

  /// A line is about to be said.
  func begin(_ line: String) {
    releaseNotices(to: STDERR_FILENO)
    isCommand = line.hasPrefix("/")
  }

  func outcome(of message: String) -> MessageSettled.Outcome? { turns.outcome(of: message) }

  /// Waits until the script may say its next line.
  func turn(after message: String) async -> MessageSettled.Outcome? {
    turns.begin(message)
    while !turns.isOver(message) { await withCheckedContinuation { waiting = $0 } }
    return turns.lastOutcome
  }

  /// Waits until everything said is settled, or a question is open; answers whether one is.
  func asksBeforeItsEnd() async -> Bool {
    while turns.isOpen, turns.question == nil { await withCheckedContinuation { waiting = $0 } }
    return turns.isOpen
  }

  private func wake() {
    waiting?.resume()
    waiting = nil
  }

  // MARK: - Printing

  private func print(_ text: String, _ role: MessageRole?) {
    guard role != .notice else {
      lastNotice = text
      return isCommand ? heldNotices.append(text) : write(text, role, to: STDERR_FILENO)
    }
    // An agent that answers or asks is at work: its notices answer no command.
    releaseNotices(to: STDERR_FILENO)
    if role == .answer { answer += (answer.isEmpty ? "" : "\n") + text }
    write(text, role, to: STDOUT_FILENO)
  }

  private func releaseNotices(to descriptor: Int32) {
    for notice in heldNotices { write(notice, .notice, to: descriptor) }
    heldNotices = []
  }

  private func write(_ text: String, _ role: MessageRole?, to descriptor: Int32) {
    guard prints else { return }
    write(descriptor, self.text.lines(of: text, role).map { $0.text + "\n" }.joined())
  }
}
