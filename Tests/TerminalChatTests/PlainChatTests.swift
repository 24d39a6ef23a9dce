import Glibc
import RelayConcurrency
import RelayWire
import Testing

@testable import TerminalChat

@Suite(.timeLimit(.minutes(1))) struct PlainChatTests {
  /// The text written to standard output and to standard error.
  private let written: Locked<[Int32: String]>
  private let chat: PlainChat

  init() {
    let written = Locked<[Int32: String]>([:])
    self.written = written
    chat = PlainChat(prints: true, environment: ["TERM": "dumb"]) { descriptor, text in
      written.withLock { $0[descriptor, default: ""] += text }
    }
  }

  private var output: String { written.withLock { $0[STDOUT_FILENO] ?? "" } }
  private var errors: String { written.withLock { $0[STDERR_FILENO] ?? "" } }

  private func show(_ text: String, _ role: MessageRole) async {
    await chat.show(MessageSend(key: text, conversation: "terminal", text: text, role: role), id: text)
  }

  private func settle(_ message: String, _ outcome: MessageSettled.Outcome) async {
    await chat.settled(MessageSettled(conversation: "terminal", message: message, outcome: outcome))
  }

  @Test func `a turn ends with the outcome of its message`() async {
    async let outcome = chat.turn(after: "1")
    await show("hello", .answer)
    await settle("1", .answered)
    #expect(await outcome == .answered)
    #expect(await chat.answer == "hello")
    #expect(await !chat.hasFailed)
  }

  @Test func `a growing answer counts once, when it is complete`() async {
    await chat.show(
      MessageSend(key: "a", conversation: "terminal", text: "hel", role: .answer, streaming: true), id: "a")
    await chat.change(MessageEdit(conversation: "terminal", message: "a", text: "hello", streaming: true))
    #expect(await chat.answer == "")
    await chat.change(MessageEdit(conversation: "terminal", message: "a", text: "hello there"))
    #expect(await chat.answer == "hello there")
    #expect(output == "hello there\n")
  }

  @Test func `notices answer a command that succeeds`() async {
    await chat.begin("/status")
    await show("Model: none", .notice)
    await settle("1", .handled)
    #expect(output == "Model: none\n" && errors == "")
  }

  @Test func `the notices of a command that fails are errors`() async {
    await chat.begin("/fail")
    await show("retrying", .notice)
    await show("❌ overloaded", .notice)
    await settle("1", .failed)
    #expect(output == "" && errors == "retrying\n❌ overloaded\n")
    #expect(await chat.hasFailed)
  }

  @Test func `the notices of a command that the agent answers stand beside the answer`() async {
    await chat.begin("/skill")
    await show("no pi was found", .notice)
    await show("Done.", .answer)
    #expect(output == "Done.\n" && errors == "no pi was found\n")
    await show("late", .notice)
    await settle("1", .answered)
    #expect(output == "Done.\n" && errors == "no pi was found\nlate\n")
  }

  @Test func `notices beside a message go to standard error at once`() async {
    await chat.begin("hello")
    await show("no pi was found", .notice)
    #expect(output == "" && errors == "no pi was found\n")
  }

  @Test func `another daemon ends the wait with a failure that says why`() async {
    await chat.begin("/status")
    await show("held", .notice)
    async let outcome = chat.turn(after: "1")
    while await !chat.awaitsOutcome { await Task.yield() }
    await chat.daemonReplaced()
    #expect(await outcome == .failed)
    #expect(errors.hasPrefix("held\npi-relayd was restarted, and"), "\(errors)")
    #expect(await chat.hasFailed)
  }
}
