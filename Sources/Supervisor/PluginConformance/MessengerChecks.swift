internal import FoundationEssentials
internal import RelayWire

/// The checks of a messenger, as far as its capabilities go. Without its platform it may fail, but must say how.
struct MessengerChecks: Sendable {
  let asking: ConformanceAsking
  let capabilities: Capabilities
  let folder: String

  private static let place = "check"

  var all: [ConformanceSuite.Check] {
    messageChecks + questionChecks + placeChecks
  }

  /// As `ConformanceAsking.ask`; a failure that the protocol knows is an answer, too.
  private func ask<Request: WireRequest>(
    _ request: Request, _ judge: (Request.Reply) -> String? = { _ in nil }
  ) async throws -> String? {
    switch try await asking.subject.answer(to: request) {
    case .result(let result): judge(result)
    case .refused(let refusal): Self.problem(refusal, of: Request.method)
    case .unreadable(let problem): problem
    }
  }

  private static func problem(_ refusal: WireError, of method: String) -> String? {
    if DeliveryFailure(refusal) != nil || refusal.code == .busy { return nil }
    if refusal.code == .methodNotFound { return "its capabilities announce \(method), which it answers with -32601" }
    if refusal.code == .delivery { return "\(method) failed without one of the kinds in data.kind: \(refusal.message)" }
    return "\(method) failed with \(refusal.code.rawValue), not -32000 and data.kind: \(refusal.message)"
  }

  /// A message to try things on: nil where the messenger cannot send at present.
  private func send(_ text: String = "hello", key: String = UUID().uuidString) async throws -> String? {
    let request = MessageSend(key: key, conversation: Self.place, text: text, role: .answer)
    guard case .result(let receipt) = try await asking.subject.answer(to: request) else { return nil }
    return receipt.message
  }

  private static func isNamed(_ receipt: Receipt) -> String? {
    receipt.message.isEmpty ? "the receipt's message is empty" : nil
  }

  // MARK: - Messages

  private var messageChecks: [ConformanceSuite.Check] {
    var checks: [ConformanceSuite.Check] = [
      .init("a messenger states its longest text", .initialize) {
        capabilities.maximumTextLength.map { $0 > 0 } == true ? nil : "capabilities.maximumTextLength is missing"
      },
      .init("message.send answers with the message's id", .messages, of: MessageSend.method) {
        try await self.expectReceipt("hello")
      },
      .init("each message gets an id of its own", .messages) { try await self.expectIDs() },
      .init("U+2028 and emoji arrive in one piece", .messages) { try await self.expectReceipt("a\u{2028}b 🦊 \"\\") },
    ]
    if let limit = capabilities.maximumTextLength, (1...1_000_000).contains(limit) {
      checks.append(.init("takes a text as long as it states", .initialize) { try await self.expectLongest(limit) })
    }
    if capabilities.idempotencyKey == true {
      checks.append(.init("the same key makes one message", .messages) { try await self.expectOneOfKey() })
    }
    if capabilities.lookup == true {
      checks.append(.init("message.lookup finds a sent message", .lookup) { try await self.expectFound() })
    }
    if capabilities.edit == true {
      checks += [
        .init("message.edit is answered with a receipt", .messages) { try await self.expectEdits() },
        .init("message.delete is answered", .messages) {
          let message = try await self.send() ?? Self.place
          return try await self.ask(MessageDelete(conversation: Self.place, message: message))
        },
      ]
    }
    if capabilities.outcomes == true {
      checks.append(
        .init("message.settled is answered, of unknown messages too", .settled) {
          try await self.ask(MessageSettled(conversation: Self.place, message: "never-sent", outcome: .answered))
        })
    }
    if capabilities.maximumFileBytes != nil {
      checks.append(.init("file.send answers with the message's id", .file) { try await self.expectFile() })
    }
    return checks
  }

  private func expectReceipt(_ text: String) async throws -> String? {
    try await ask(MessageSend(key: UUID().uuidString, conversation: Self.place, text: text), Self.isNamed)
  }

  private func expectLongest(_ limit: Int) async throws -> String? {
    // Where not even a short one is taken, a refusal says nothing.
    guard try await send() != nil else { return nil }
    let unit = capabilities.lengthUnit ?? .utf16
    let foxes = String(repeating: "🦊", count: limit / unit.count("🦊"))
    for text in [String(repeating: "x", count: limit), foxes] {
      let request = MessageSend(key: UUID().uuidString, conversation: Self.place, text: text)
      switch try await asking.subject.answer(to: request) {
      case .result: break
      case .unreadable(let problem): return problem
      case .refused(let refusal):
        switch DeliveryFailure(refusal) {
        case .tooLarge?, .invalid?:
          return
            "capabilities say \(limit) \(unit.rawValue), but \(unit.count(text)) of \(text.prefix(1)) are refused: "
            + refusal.message
        default: if let problem = Self.problem(refusal, of: MessageSend.method) { return problem }
        }
      }
    }
    return nil
  }

  private func expectOneOfKey() async throws -> String? {
    let key = UUID().uuidString
    guard let first = try await send(key: key), let second = try await send(key: key) else { return nil }
    return first == second ? nil : "it made \(first) and \(second) of one key"
  }

  private func expectIDs() async throws -> String? {
    guard let first = try await send("one"), let second = try await send("two") else { return nil }
    return first == second ? "message.send answered two messages with the one id \(first)" : nil
  }

  private func expectFound() async throws -> String? {
    let key = UUID().uuidString
    let sent = try await send(key: key)
    let problem = try await ask(MessageLookup(conversation: Self.place, key: key)) { found in
      guard let sent, found.message != sent else { return nil }
      return found.message.map { "it finds \($0) for the key of \(sent)" } ?? "it finds nothing for the key of \(sent)"
    }
    if let problem { return problem }
    return try await ask(MessageLookup(conversation: Self.place, key: "never-sent")) { found in
      found.message.map { "it finds \($0) for a key that was never sent" }
    }
  }

  private func expectEdits() async throws -> String? {
    let message = try await send() ?? Self.place
    for (text, streaming) in [("hello there", true), ("hello there, again", nil)] as [(String, Bool?)] {
      let edit = MessageEdit(conversation: Self.place, message: message, text: text, streaming: streaming)
      let problem = try await ask(edit) { receipt in
        receipt.putOff == true && streaming != true ? "putOff answers a change without streaming" : nil
      }
      if let problem { return problem }
    }
    return nil
  }

  private func expectFile() async throws -> String? {
    let path = "\(folder)/check-file.txt"
    do {
      try Data("a file".utf8).write(to: URL(filePath: path))
    } catch {
      return "\(path) cannot be written: \(error)"
    }
    return try await ask(
      FileSend(key: UUID().uuidString, conversation: Self.place, path: path, name: "check.txt", mime: "text/plain"),
      Self.isNamed)
  }

  // MARK: - Questions, typing and the menu

  private var questionChecks: [ConformanceSuite.Check] {
    var checks: [ConformanceSuite.Check] = []
    if let limits = capabilities.buttons {
      checks.append(
        .init("its buttons hold the host's ids", .initialize) {
          limits.idLength >= ButtonLimits.leastIDLength
            ? nil : "buttons.idLength is \(limits.idLength), and must be at least \(ButtonLimits.leastIDLength)"
        })
      checks += [
        .init("dialog.show answers with the message's id", .dialog, of: DialogShow.method) {
          try await self.expectQuestion()
        },
        .init("a question can be withdrawn, twice too", .dialog) { try await self.expectWithdrawal() },
      ]
    }
    if capabilities.typing == true {
      checks.append(
        .init("typing.set is answered", .typing) {
          if let problem = try await self.ask(TypingSet(conversation: Self.place, active: true)) { return problem }
          return try await self.ask(TypingSet(conversation: Self.place, active: false))
        })
    }
    if capabilities.commandsMenu == true {
      checks.append(
        .init("commands.changed is answered, of an empty menu too", .typing) {
          let use = CommandsChanged.Command(
            name: "use", summary: "talk to another session", arguments: "<number|name>", completes: true)
          if let problem = try await self.ask(CommandsChanged(commands: [use])) { return problem }
          return try await self.ask(CommandsChanged(commands: []))
        })
    }
    return checks
  }

  private func question(_ kind: DialogShow.Kind) -> DialogShow {
    let buttons = [Button(id: "check:1", label: "Yes", style: .success), Button(id: "check:2", label: "No")]
    return DialogShow(
      key: UUID().uuidString, conversation: Self.place, dialog: "check", kind: kind, text: "❓ Does it work?",
      buttons: kind == .confirm ? [Array(buttons.prefix(capabilities.buttons?.perRow ?? 1))] : nil)
  }

  private func expectQuestion() async throws -> String? {
    for kind in [DialogShow.Kind.confirm, .input] {
      if let problem = try await ask(question(kind), Self.isNamed) { return "\(kind.rawValue): \(problem)" }
    }
    return nil
  }

  /// The host repeats what it does not know to have been carried out.
  private func expectWithdrawal() async throws -> String? {
    var shown = Self.place
    if case .result(let receipt) = try await asking.subject.answer(to: question(.confirm)) { shown = receipt.message }
    let close = DialogClose(
      conversation: Self.place, message: shown, dialog: "check", text: "✔ Does it work? — withdrawn")
    if let problem = try await ask(close) { return problem }
    return try await ask(close).map { "the second time: \($0)" }
  }

  // MARK: - Places

  private var placeChecks: [ConformanceSuite.Check] {
    var checks: [ConformanceSuite.Check] = []
    if capabilities.threads == true {
      checks.append(
        .init("thread.create answers with a thread", .places) {
          try await self.ask(ThreadCreate(key: UUID().uuidString, conversation: Self.place, title: "check")) {
            $0.conversation.kind == .thread ? nil : "its kind is \($0.conversation.kind.rawValue)"
          }
        })
    }
    if capabilities.directMessages == true {
      checks.append(
        .init("conversation.open answers with direct messages", .places) {
          try await self.ask(ConversationOpen(user: Self.place)) {
            $0.conversation.kind == .dm ? nil : "its kind is \($0.conversation.kind.rawValue)"
          }
        })
    }
    if capabilities.presence == true {
      checks.append(
        .init("presence.set is answered, without a text too", .places) {
          if let problem = try await self.ask(PresenceSet(text: "check")) { return problem }
          return try await self.ask(PresenceSet(text: nil))
        })
    }
    return checks
  }
}
