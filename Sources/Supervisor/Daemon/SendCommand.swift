import ArgumentParser
internal import ControlServer
import RelayJSON
internal import RelayModel
import RelayTransport
import RelayWire

// The commands about one session.

struct SessionArgument: ParsableArguments {
  @Argument(help: "The session: its name or id, or the beginning of one (see pi-relayd sessions).") var session: String
}

struct Send: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Give a session a message.",
    discussion: """
      The message is stored when the command ends: whatever crashes, it is worked on once. Into the run in progress, where \
      there is one, otherwise a turn of its own.
      """)

  @Flag(help: "The same, said by name.") var steer = false
  @Flag(help: "A turn of its own, behind what waits.") var followUp = false
  @Option(help: "An id of yours: the same message sent again with it is not worked on twice.") var id: String?
  @Flag(help: "Print JSON.") var json = false
  @OptionGroup var target: SessionArgument
  @Argument(help: "The message.") var text: [String]

  func validate() throws {
    if steer, followUp { throw ValidationError("--steer and --follow-up exclude each other") }
  }

  func run() async throws {
    let prompt = ProgramPrompt(
      session: target.session, text: text.joined(separator: " "),
      delivery: followUp ? .followUp : steer ? .steer : .auto, id: id)
    let receipt = try await CommandLineEnvironment().ask(prompt)
    if json { return print(String(decoding: try JSONCoding.encode(receipt, sorted: true), as: UTF8.self)) }
    if receipt.repeated == true {
      print("Sent before: the message \(receipt.message) is \(receipt.stage).")
    } else if receipt.steered == true {
      print("The working agent has the message \(receipt.message).")
    } else if let behind = receipt.behind {
      print("The message \(receipt.message) waits: \(behind) before it.")
    } else {
      print("The session has the message \(receipt.message).")
    }
  }
}

struct Abort: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Interrupt what a session's agent is doing.", discussion: "Messages that wait run next.")
  @OptionGroup var target: SessionArgument

  func run() async throws {
    let stopped = try await CommandLineEnvironment().ask(SessionAbortRequest(session: target.session)).stopped
    print(stopped == "nothing" ? "There is nothing to stop." : "The \(stopped) is stopped.")
  }
}

struct Answer: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Answer a session's open question, or list the open ones.",
    discussion: "Without an answer the open questions are listed.")
  @OptionGroup var target: SessionArgument
  @Option(help: "The question's id; otherwise the one that has waited longest.") var question: String?
  @Flag(help: "Cancel the question.") var cancel = false
  @Argument(help: "A number or label of its options, yes or no, or a text.") var answer: [String] = []

  func validate() throws {
    if cancel, !answer.isEmpty { throw ValidationError("--cancel takes no answer") }
  }

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    guard cancel || !answer.isEmpty else {
      let open = try await surroundings.ask(SessionQuestionsRequest(session: target.session)).questions
      if open.isEmpty { print("There is no open question.") }
      for question in open { for line in Self.lines(of: question) { print(line) } }
      return
    }
    let reply = try await surroundings.ask(
      SessionAnswerRequest(
        session: target.session, question: question, answer: cancel ? nil : answer.joined(separator: " ")))
    print("Answered: \(reply.answer)")
  }

  /// The question, its id and its options.
  static func lines(of question: OpenQuestion) -> [String] {
    ["\(question.id)  \(question.title)"] + (question.message.map { ["  \($0)"] } ?? [])
      + question.options.enumerated().map { "  \($0 + 1). \($1)" }
  }
}
