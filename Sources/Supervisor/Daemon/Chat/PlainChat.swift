import Glibc
import RelayPipes
import RelayWire

/// Chat without a terminal: messages from standard input, one a line, and the answers on standard output.
actor PlainChat: ChatScreen {
  private var texts: [String: String] = [:]
  private var waiting: [String: CheckedContinuation<MessageSettled.Outcome, Never>] = [:]
  private var outcomes: [String: MessageSettled.Outcome] = [:]
  private(set) var answer = ""

  private let prints: Bool

  init(prints: Bool) {
    self.prints = prints
  }

  func show(_ message: MessageSend, id: String) {
    guard message.streaming == true else {
      print(message.text, message.role)
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
    print(message.text, .answer)
  }

  func remove(_ message: MessageDelete) { texts[message.message] = nil }

  func ask(_ dialog: DialogShow, id: String) { print(dialog.text, .dialog) }

  func typing(_ active: Bool) {}

  func connected(_ isConnected: Bool) {}

  func settled(_ message: MessageSettled) {
    if let waiter = waiting.removeValue(forKey: message.message) {
      waiter.resume(returning: message.outcome)
    } else {
      outcomes[message.message] = message.outcome
    }
  }

  /// Waits until everything about a message has been said.
  func outcome(of message: String) async -> MessageSettled.Outcome {
    if let outcome = outcomes.removeValue(forKey: message) { return outcome }
    return await withCheckedContinuation { waiting[message] = $0 }
  }

  private func print(_ text: String, _ role: MessageRole?) {
    if role == .answer { answer += (answer.isEmpty ? "" : "\n") + text }
    guard prints else { return }
    let bytes = Array((text + "\n").utf8)
    _ = write(1, bytes, bytes.count)
  }
}
