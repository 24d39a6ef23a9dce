internal import Conversations
internal import PiRPC
internal import RelayJSON
internal import RelayModel
internal import RelayWire
internal import SessionStates

extension SessionReport {
  /// The longest beginning of a text that a report repeats, in characters.
  static let maximumBeginning = 500

  /// - Returns: `nil` for an event that is none for programs.
  init?(_ item: OutputEvent, of session: String, at time: Double) {
    guard let (event, data) = Self.describe(item) else { return nil }
    self.init(session: session, event: event, time: time, data: .object(data.compactMapValues(\.self)))
  }

  private typealias Description = (event: String, data: [String: JSONValue?])

  private static func describe(_ item: OutputEvent) -> Description? {
    switch item {
    case .event(let event): describe(event)
    case .ask(let question): ("question.opened", members(of: question))
    case .settleDialog(let question, .answered(let answer, let name)):
      ("question.settled", ["id": .string(question.id), "answer": .string(beginning(answer)), "by": .string(name)])
    case .settleDialog(let question, .unanswered(let why)):
      ("question.settled", ["id": .string(question.id), "why": .string(why)])
    case .say, .report, .change, .resume, .askedElsewhere, .end, .tell, .detached: nil
    }
  }

  private static func describe(_ event: SessionEvent) -> Description? {
    switch event {
    case .runStarted(let message, let text):
      ("run.started", members(of: message).merging(["text": .string(beginning(text))]) { $1 })
    case .typed(let text): ("typed", ["text": .string(beginning(text))])
    case .agentStarted: ("agent.started", [:])
    case .text(let text): ("text", ["text": .string(text)])
    case .messageEnded(let message):
      (
        "message.ended",
        [
          "bytes": .integer(Int64(message.text.utf8.count)), "beginning": .string(beginning(message.text)),
          "stopReason": message.stopReason.map(JSONValue.string),
          "error": message.errorMessage.map { .string(beginning($0)) },
        ]
      )
    case .toolStarted(let id, let name, let arguments):
      (
        "tool.started",
        ["id": .string(id), "name": .string(name), "arguments": .string(beginning(text(of: arguments)))]
      )
    case .toolEnded(let id, let name, let failed, let images):
      (
        "tool.ended",
        [
          "id": .string(id), "name": .string(name), "failed": .bool(failed),
          "images": images.isEmpty ? nil : .integer(Int64(images.count)),
        ]
      )
    case .notice(let text): ("notice", ["text": .string(text)])
    case .progress(let kind, let text, let isOver):
      ("progress", ["kind": .string(kind.rawValue), "text": text.map(JSONValue.string), "isOver": .bool(isOver)])
    case .timedOut(let message, let limit):
      ("run.timedOut", members(of: message).merging(["seconds": .integer(limit.components.seconds)]) { $1 })
    case .runEnded(let message, let end):
      (
        "run.ended",
        members(of: message.key).merging([
          "outcome": .string(end.outcome.rawValue), "problem": end.problem.map(JSONValue.string),
        ]) { $1 }
      )
    case .messageTaken(let message): ("message.taken", members(of: message.key))
    case .messageDropped(let message), .messageNotTaken(let message): ("message.dropped", members(of: message.key))
    case .nameOrModelChanged: ("changed", [:])
    case .closed: ("closed", [:])
    case .messageGiven, .dialogOpened, .dialogWithdrawn, .questionsOver, .messageMayBeTaken: nil
    }
  }

  /// A message by its id and the instance that it came from; one of a program by the program's id alone.
  private static func members(of message: MessageKey?) -> [String: JSONValue?] {
    guard let message else { return [:] }
    if case .program(let id) = message.origin { return ["message": .string(id)] }
    return ["message": .string(message.id), "from": .string(message.conversation.instance)]
  }

  private static func members(of question: PendingQuestion) -> [String: JSONValue?] {
    let open = OpenQuestion(question)
    return [
      "id": .string(open.id), "kind": .string(open.kind), "title": .string(open.title),
      "message": open.message.map(JSONValue.string),
      "options": open.options.isEmpty ? nil : .array(open.options.map(JSONValue.string)),
      "supervisor": open.supervisor.map(JSONValue.bool), "expires": open.expires.map(JSONValue.number),
    ]
  }

  private static func text(of value: JSONValue) -> String { String(decoding: JSONCoding.encode(value), as: UTF8.self) }

  private static func beginning(_ text: String) -> String {
    text.count > maximumBeginning ? text.prefix(maximumBeginning) + "…" : text
  }
}

extension OpenQuestion {
  init(_ record: PendingQuestion) {
    self.init(
      id: record.id, session: record.session, kind: record.dialog.kind.rawValue, title: record.dialog.title,
      message: record.dialog.message, options: record.dialog.options, expires: record.expires,
      supervisor: record.isFromSupervisor ? true : nil)
  }
}
