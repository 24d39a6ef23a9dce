internal import ContentServices
internal import MessageDelivery
internal import RelayConfig
internal import RelayText
internal import RelayWire
internal import SessionStates

/// Shows the tools of a run and the progress of other work.
///
/// A part of one conversation's output, in whose isolation its methods run.
final class ProgressPresenter {
  private(set) var tools = ToolProgress()
  private let delivery: MessageSender
  private let services: Services
  private let redaction: Redactor
  private let notices: NoticeSender
  private let answer: AnswerPresenter

  init(
    _ delivery: MessageSender, _ services: Services, _ redaction: Redactor, _ notices: NoticeSender,
    _ answer: AnswerPresenter
  ) {
    self.delivery = delivery
    self.services = services
    self.redaction = redaction
    self.notices = notices
    self.answer = answer
  }

  /// Continues where the predecessor of this process stopped.
  func adopt(_ snapshot: ToolProgress) { tools = snapshot }

  // MARK: - Tools

  func startTool(_ id: String, _ call: FormatTool.Call) { tools.startTool(id, call) }

  func endTool(_ id: String, _ name: String, failed: Bool) async {
    if let sent = tools.endTool(id, name: name, failed: failed) { await delivery.remove(sent) }
  }

  func toolIsSlow(_ id: String, in profile: MessengerProfile) async {
    guard let call = tools.call(id), profile.settings.output != .final else { return }
    await answer.flushBeforeNotice(in: profile)
    // It is to go again, so it counts as unfinished until it has.
    let text = "⏳ Running \(TextSanitizer.line(call.name))…"
    tools.show(id, await delivery.send(delivery.compose(text, role: .tools, streaming: true)))
  }

  /// Shows the tools that have ended.
  func flush(in profile: MessengerProfile) async {
    let calls = tools.takeFinished()
    guard !calls.isEmpty, profile.settings.output != .final else { return }
    // Before the formatter cuts them: half of a secret looks like none.
    let shown =
      redaction.isEmpty
      ? calls
      : calls.map { call in
        var call = call
        call.arguments = redaction.apply(to: call.arguments)
        return call
      }
    let lines = await services.toolLines(FormatTool(calls: shown, dialect: profile.dialect))
    await notices.say(lines.joined(separator: "\n"), .tools, in: profile)
  }

  // MARK: - Other work

  /// Shows progress in one message that changes. Where messages cannot be changed, only the end is shown.
  func show(_ kind: ProgressKind, _ text: String?, isOver: Bool, in profile: MessengerProfile) async {
    let id = "#\(kind.rawValue)"
    if let sent = isOver ? tools.takeMessage(of: id) : tools.message(of: id) {
      guard let text else { return await delivery.remove(sent) }
      let words = (sent.mayBeRepeat ? MessageSender.repeatMark : "") + redaction.apply(to: text)
      if isOver {
        await delivery.complete(sent, as: words, role: .notice)
      } else {
        // Its end says what could not be shown meanwhile.
        _ = await delivery.edit(delivery.composeEdit(of: sent.message, to: words, streaming: true))
      }
    } else if let text {
      guard isOver || profile.editsMessages else { return }
      await answer.flushBeforeNotice(in: profile)
      if isOver {
        await notices.say(text, in: profile)
      } else {
        let record = delivery.compose(redaction.apply(to: text), role: .notice, streaming: true)
        tools.show(id, await delivery.send(record))
      }
    }
  }

  // MARK: - Ends

  func endRun(in profile: MessengerProfile) async {
    await flush(in: profile)
    await removeMessages()
    tools.runEnded()
  }

  /// The conversation turns to another session, and is not shown what has ended in this one.
  func detach() async {
    tools.detach()
    await removeMessages()
  }

  private func removeMessages() async {
    for sent in tools.takeMessages() { await delivery.remove(sent) }
  }
}
