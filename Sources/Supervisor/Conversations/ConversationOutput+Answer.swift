internal import ContentServices
internal import MessageDelivery
internal import PiRPC
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayTransport
internal import RelayWire

// The agent's answer: gathered as it streams, shown at the platform's pace, and fixed piece by piece.
extension ConversationOutput {
  func render(_ text: String, final: Bool) async -> [FormatRender.Piece] {
    // Text that needs nothing done to it need not be sent anywhere.
    if profile.dialect == "markdown" || PlainText.isPlain(text), profile.fits(text) {
      return text.isEmpty ? [] : [FormatRender.Piece(text: text, consumed: text.utf8.count)]
    }
    return await services.render(
      FormatRender(text: text, dialect: profile.dialect, limit: profile.limit, unit: profile.unit, final: final),
      of: "\(key)#\(answer.number)")
  }

  /// Shows the text that has arrived, now or as soon as the platform likes another change.
  func showSoon() async {
    let action = throttle.textArrived(now: timekeeper.now(), interval: profile.editInterval)
    if action == .edit { await flushNow() } else { carryOut(action) }
  }

  private func carryOut(_ action: EditThrottle.Action) {
    if case .schedule(let wait, let number) = action { remind(.flush(number), after: wait) }
  }

  /// Shows the text that has been put off, as soon as the messenger is there.
  func showWhenPossible() { carryOut(throttle.schedule(after: .zero)) }

  /// Shows the text of a growing message later.
  private func postpone(by wait: Duration) {
    answer.flushFailed()
    carryOut(throttle.postpone(by: wait, now: timekeeper.now()))
  }

  func flushNow() async {
    guard answer.wantsEdit else { return }
    throttle.editBegan(now: timekeeper.now())
    if profile.settings.output == .preview { await showPreview() } else { await flush(final: false) }
  }

  func flush(final: Bool) async {
    answer.beginFlush()
    let pieces = await render(answer.source, final: final)
    if final { return await finish(with: pieces) }
    var consumed = 0
    for (index, piece) in pieces.enumerated() {
      if index == pieces.count - 1 {
        await show(piece.text, streaming: true)
        return
      }
      // What could not be recorded is tried again with what comes.
      guard await show(piece.text, streaming: false) else { return answer.flushFailed() }
      answer.fix(piece, after: consumed)
      if index == pieces.count - 2 { answer.reopen(with: piece.reopen) }
      consumed = piece.consumed
    }
  }

  /// The text is complete: what all its messages are to show is recorded in one step, so that it is shown wholly or, by
  /// this daemon or the next, is known to be unfinished.
  private func finish(with pieces: [FormatRender.Piece]) async {
    guard let first = pieces.first else { return }
    let rest = pieces.dropFirst().map { delivery.compose($0.text, role: .answer) }
    guard await show(first.text, streaming: false, followedBy: rest) else { return }
    for record in rest where await delivery.sendRecorded(record) == nil { display.becomeIncomplete() }
  }

  /// Makes the growing message show this text; begins one if there is none.
  ///
  /// - Parameter rest: recorded together with the last change.
  /// - Returns: false when nothing could be recorded.
  @discardableResult
  func show(_ text: String, streaming: Bool, followedBy rest: [OutboundRecord] = []) async -> Bool {
    guard let message = answer.message else { return await begin(text, streaming: streaming, followedBy: rest) }
    if streaming {
      if answer.shows(text) { return true }
      checkpoint?.write(answer.source)
      await change(message, to: text, streaming: true, as: nil)
      return true
    }
    // What it comes to in the end must not get lost: it is recorded while the platform is told. A crash of ours before
    // either leaves a message that grows, with all of its text in the checkpoint.
    let mayGoAhead =
      !answer.isReplaced && throttle.pause(now: timekeeper.now()) == .zero && checkpoint?.write(answer.source) == true
    let marked = answer.mark + text
    let edit = delivery.composeEdit(of: message, to: marked)
    async let early = mayGoAhead ? delivery.edit(edit)?.answer : nil
    let key = await delivery.recordLast(marked, of: message, closing: answer.key, followedBy: rest)
    let outcome = await early
    guard let key else {
      display.becomeIncomplete()
      return false
    }
    endCheckpoint()
    await change(message, to: text, streaming: false, as: key, after: outcome)
    return true
  }

  /// - Parameters:
  ///   - record: to be settled by the outcome.
  ///   - early: the outcome of a first try.
  private func change(
    _ message: String, to text: String, streaming: Bool, as record: String?, after early: DeliveryAttempt.Answer? = nil
  ) async {
    // As the platform has asked, whatever the change is for.
    let pause = throttle.pause(now: timekeeper.now())
    if pause > .zero, early == nil {
      if streaming { return postpone(by: pause) }
      guard await timekeeper.sleep(for: pause) else { return }
    }
    let edit = delivery.composeEdit(of: message, to: answer.mark + text, streaming: streaming)
    switch await delivery.change(edit, key: record, early: early) {
    case .done: answer.edited(to: text)
    case .putOff, .interrupted: break
    case .wait(let delay): postpone(by: delay)
    case .gone: await begin(text, streaming: streaming, superseding: record)
    case .rejected: await giveUpEditing(text, streaming: streaming, as: record)
    case .setAside: display.becomeIncomplete()
    }
  }

  /// The platform does not let the message grow any more: while it would, nothing further is tried; the whole text
  /// comes as a message of its own, and the message with a part of it is removed.
  private func giveUpEditing(_ text: String, streaming: Bool, as record: String?) async {
    if streaming {
      answer.rejectEdits()
    } else if !answer.shows(text) {
      let partial = answer.message
      await begin(text, streaming: false, superseding: record)
      if let partial, let message = answer.message, message != partial { _ = await delivery.delete(partial) }
    } else {
      delivery.settle(record, .abandoned)
    }
  }

  @discardableResult
  func begin(
    _ text: String, streaming: Bool, followedBy rest: [OutboundRecord] = [], superseding: String? = nil
  ) async -> Bool {
    guard let mark = answer.markForNew(text) else {
      return await delivery.record(rest, closing: answer.key, superseding: superseding)
    }
    let record = delivery.compose(mark + text, role: .answer, streaming: streaming)
    if streaming {
      checkpoint = checkpoints.begin(record.key)
      checkpoint?.write(answer.source)
      if !mark.isEmpty { checkpoint?.mark() }
    }
    // A message that is gone from the platform may have been growing under this key.
    let before = answer.key
    let isRecorded = await delivery.record([record] + rest, closing: before, superseding: superseding)
    if let before { checkpoints.remove(before) }
    let growing = streaming ? checkpoint : nil
    let sent = isRecorded ? await delivery.sendRecorded(record, willMark: { growing?.mark() }) : nil
    answer.begin(sent, showing: text, mark: mark, grows: streaming)
    if sent == nil {
      display.becomeIncomplete()
      // Where it was given up, nothing is left to complete; where this daemon ends, the next one tries again.
      if streaming, !Task.isCancelled {
        checkpoint = nil
        checkpoints.remove(record.key)
      }
    }
    return isRecorded
  }

  private func endCheckpoint() {
    checkpoint = nil
    if let key = answer.key { checkpoints.remove(key) }
    answer.endGrowth()
  }

  func showPreview() async {
    let text = answer.source
    answer.beginFlush()
    let shown =
      profile.fits(text) ? text : "[streaming, \(text.count) characters]\n…" + text.suffix(profile.limit / 4)
    await show(shown, streaming: true)
  }

  func end(_ message: PiMessage) async {
    throttle.cancel()
    let text = redaction.apply(to: message.text)
    answer.complete(with: text, through: redaction)
    if !answer.isEmpty {
      await flushTools()
      await flush(final: true)
      if !profile.fits(text, messages: Self.maximumMessages) { await sendAsFile(text) }
    }
    answer.startNext()
  }

  /// An answer of more messages than this comes as a file, too, with its tables as they were written.
  static let maximumMessages = 5

  /// Shows what has been streamed so far before something else is said. The message goes on growing above it; where
  /// messages cannot grow, it is sent when it is complete.
  func flushBeforeNotice() async {
    guard answer.isDirty, profile.streams else { return }
    throttle.cancel()
    await flush(final: false)
  }
}
