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
      for line in waitingFor { try await finish(line, messenger) }
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

  func finish(_ line: Line, _ messenger: FakeMessenger) async throws {
    // The agent may ask something, and we whether a message is to run again.
    while await messenger.outcomes[line.tag] == nil {
      try Task.checkCancellation()
      await messenger.wait { $0.outcomes[line.tag] != nil || $0.openQuestion(line.tag) != nil }
      if let question = await messenger.openQuestion(line.tag) {
        if line.number % 2 == 0, let button = question.buttons?.first?.first?.id {
          try await insist { try await messenger.press(button, id: line.tag + question.id, in: conversation) }
          await messenger.wait { $0.outcomes[line.tag] != nil || $0.openQuestion(line.tag)?.id != question.id }
        } else {
          let reply = "\(line.tag)r\(question.id)"
          try await insist { try await messenger.say("2", id: reply, in: conversation) }
          await messenger.wait { $0.outcomes[reply] != nil }
        }
      }
    }
  }
}

extension FakeMessenger {
  fileprivate func openQuestion(_ tag: String) -> Shown? {
    questions.last { $0.text.contains(tag) }
  }
}
