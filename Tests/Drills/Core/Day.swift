import FoundationEssentials
import Glibc
import RelayWire
package import TestSupport

/// The messages of people in one conversation in the course of a scripted day: prompts of every kind, alone and in
/// bursts, with questions to answer and files, each known again by its tag.
package struct Day: Sendable {
  enum Kind: CaseIterable, Sendable { case words, tool, question, file, image, long }

  struct Line: Sendable {
    let number: Int
    let kind: Kind
    let tag: String
    /// The next is written at once, without waiting for the answer.
    let isFollowed: Bool

    var text: String {
      switch kind {
      case .words: "note \(tag)"
      case .tool: "/tool 5 \(tag)"
      case .question: "/select 60000 \(tag)"
      case .file: "read this \(tag)"
      case .image: "/image \(tag)"
      case .long: "/long 600 \(tag)"
      }
    }
  }

  let conversation: String
  let lines: [Line]

  init(_ conversation: String, messages: Int) {
    self.conversation = conversation
    lines = (0..<messages).map { number in
      let kind = Kind.allCases[number % Kind.allCases.count]
      // In brackets, so that no tag is part of another.
      return Line(
        number: number, kind: kind, tag: "<\(conversation).\(number)>",
        isFollowed: number % 7 < 3 && kind != .question)
    }
  }

  init(_ conversation: String, lines: [Line]) {
    self.conversation = conversation
    self.lines = lines
  }

  /// Lives through a day of four conversations, with nothing in its way.
  package static func live(messages: Int, programs: Programs) async throws {
    try await RelayFixture.run(
      config: KillDrill.config, capabilities: KillDrill.capabilities(.keys), programs: programs
    ) {
      relay in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for conversation in KillDrill.conversations {
          group.addTask { try await Day(conversation, messages: messages).run(with: relay.messenger) }
        }
        try await group.waitForAll()
      }
    }
  }

  /// Lives through it. Ends when each message has ended.
  func run(with messenger: FakeMessenger) async throws {
    var waitingFor: [Line] = []
    for line in lines {
      try await say(line, messenger)
      waitingFor.append(line)
      if line.isFollowed, line.number < lines.count - 1 { continue }
      try await finish(waitingFor, with: messenger)
      waitingFor = []
    }
  }

  /// Answers whether it was new to the relay.
  @discardableResult
  func say(_ line: Line, _ messenger: FakeMessenger) async throws -> Bool {
    var attachments: [Attachment]?
    if line.kind == .file {
      let spool = await messenger.lastInitialize?.spoolDir ?? ""
      let path = "\(spool)/\(line.tag)"
      try Data("the contents of \(line.tag)".utf8).write(to: URL(filePath: path))
      attachments = [Attachment(id: "1", name: "notes.txt", path: path)]
    }
    return try await insist { [attachments] in
      try await messenger.say(line.text, id: line.tag, in: conversation, attachments: attachments).stored
    }
  }

  /// Again until it is acknowledged, as a messenger does.
  @discardableResult
  private func insist<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
    while true {
      try Task.checkCancellation()
      do { return try await body() } catch is CancellationError { throw CancellationError() } catch {
        // A messenger tries again after a while: nothing tells it when the daemon takes the message.
        try await Task.sleep(for: .milliseconds(10))
      }
    }
  }

  /// Waits until these messages, and the replies to questions about them, have ended.
  func finish(_ lines: [Line], with messenger: FakeMessenger) async throws {
    var replies: [String] = []
    for line in lines { replies += try await finish(line.tag, pressing: line.number % 2 == 0, messenger) }
    // A reply that comes after its question was withdrawn is a message like any other. It may wait behind each of them.
    for reply in replies { _ = try await finish(reply, pressing: true, messenger) }
  }

  /// Answers each question that is asked until a message has ended: the agent's, and ours whether to run it again.
  ///
  /// - Parameter pressing: presses buttons, where there are some, in place of replies.
  /// - Returns: the replies, which may not have ended.
  private func finish(_ id: String, pressing: Bool, _ messenger: FakeMessenger) async throws -> [String] {
    var replies: [String] = []
    while await messenger.outcomes[id] == nil {
      try Task.checkCancellation()
      await messenger.wait { $0.outcomes[id] != nil || $0.openQuestion(id, in: conversation) != nil }
      guard let question = await messenger.openQuestion(id, in: conversation) else { continue }
      if pressing, let button = question.buttons?.first?.first?.id {
        try await insist { try await messenger.press(button, id: id + question.id, in: conversation) }
        await messenger.wait {
          $0.outcomes[id] != nil || $0.openQuestion(id, in: conversation)?.id != question.id
        }
      } else {
        let reply = "\(id)r\(question.id)"
        replies.append(reply)
        try await insist { try await messenger.say("2", id: reply, in: conversation) }
        // The message may wait for a newer question, and the reply behind the message.
        await messenger.wait {
          $0.outcomes[reply] != nil || $0.openQuestion(id, in: conversation)?.id != question.id
        }
      }
    }
    return replies
  }
}

extension FakeMessenger {
  /// The question about a message, or else one that names no message of the day: it is about a reply.
  fileprivate func openQuestion(_ id: String, in conversation: String) -> Shown? {
    questions.last { $0.text.contains(id) }
      ?? questions.last { $0.conversation == conversation && !$0.text.contains("<\(conversation).") }
  }
}
