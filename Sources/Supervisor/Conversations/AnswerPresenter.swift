internal import ContentServices
internal import MessageDelivery
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayText
internal import RelayWire

/// Shows the agent's answer: gathered as it streams, shown at the platform's pace, and fixed piece by piece.
///
/// A part of one conversation's output, in whose isolation its methods run.
final class AnswerPresenter {
  private var buffer = AnswerBuffer()
  private var throttle = EditThrottle()
  /// The file of the message that grows.
  private var checkpoint: StreamCheckpoint?
  private var isIncomplete = false
  private let delivery: MessageSender
  private let services: Services
  private let redaction: Redactor
  private let checkpoints: StreamCheckpoints
  private let reminders: OutputReminders

  init(
    _ delivery: MessageSender, _ services: Services, _ redaction: Redactor, _ checkpoints: StreamCheckpoints,
    _ reminders: OutputReminders
  ) {
    self.delivery = delivery
    self.services = services
    self.redaction = redaction
    self.checkpoints = checkpoints
    self.reminders = reminders
  }

  // MARK: - Text from the agent

  func append(_ text: String, in profile: MessengerProfile) async {
    buffer.append(text, through: redaction)
    guard profile.editsMessages else { return }
    // Now, or as soon as the platform likes another change.
    let action = throttle.textArrived(now: now, interval: profile.editInterval)
    if action == .edit { await showGrowing(in: profile) } else { carryOut(action) }
  }

  /// Ends the text, for a message that is complete.
  ///
  /// - Parameter whole: the redacted text of the message; `nil` where nothing more than the deltas is known.
  /// - Returns: true when there is something to show.
  func endText(with whole: String?) -> Bool {
    throttle.cancel()
    if let whole { buffer.complete(with: whole, through: redaction) } else { buffer.release(through: redaction) }
    return !buffer.isEmpty
  }

  /// Begins the agent's next message.
  func startNext() { buffer.startNext() }

  /// - Returns: true, once, when some of the answer could not be shown.
  func takeIncomplete() -> Bool {
    defer { isIncomplete = false }
    return isIncomplete
  }

  // MARK: - An earlier daemon's answer

  var snapshot: AnswerBuffer { buffer }

  /// Continues where the predecessor of this process stopped.
  func adopt(_ snapshot: AnswerBuffer, in profile: MessengerProfile) {
    buffer = snapshot
    if let key = buffer.key {
      checkpoint = checkpoints.begin(key)
      checkpoint?.write(buffer.source)
      if !buffer.mark.isEmpty { checkpoint?.mark() }
    }
    // Text that had been put off is shown as soon as the messenger is back.
    if buffer.isDirty, profile.editsMessages { carryOut(throttle.schedule(after: .zero)) }
  }

  /// Makes a growing message of an earlier daemon show all of its text.
  func complete(_ sent: MessageSender.Sent, text: String, in profile: MessengerProfile) async {
    buffer.restore(sent, text: text)
    await finish(in: profile)
    buffer.startNext()
  }

  // MARK: - Messages of the platform

  private var now: Duration { delivery.timeSource.now() }

  func render(_ text: String, final: Bool, in profile: MessengerProfile) async -> [FormatRender.Piece] {
    // Text that needs nothing done to it need not be sent anywhere.
    if profile.dialect == "markdown" || PlainText.isPlain(text), profile.fits(text) {
      return text.isEmpty ? [] : [FormatRender.Piece(text: text, consumed: text.utf8.count)]
    }
    return await services.render(
      FormatRender(text: text, dialect: profile.dialect, limit: profile.limit, unit: profile.unit, final: final),
      of: "\(delivery.conversation)#\(buffer.number)")
  }

  private func carryOut(_ action: EditThrottle.Action) {
    if case .schedule(let wait, let number) = action { reminders.add(.flush(number), after: wait) }
  }

  /// Shows the text of a growing message later.
  private func postpone(by wait: Duration) {
    buffer.flushFailed()
    carryOut(throttle.postpone(by: wait, now: now))
  }

  func timerFired(_ number: Int, in profile: MessengerProfile) async {
    if throttle.timerFired(number) { await showGrowing(in: profile) }
  }

  /// Shows the text so far before something else is said. The message continues to grow above it; where messages cannot
  /// grow, it is sent when it is complete.
  func flushBeforeNotice(in profile: MessengerProfile) async {
    guard buffer.isDirty, profile.streams else { return }
    throttle.cancel()
    await flush(in: profile)
  }

  private func showGrowing(in profile: MessengerProfile) async {
    guard buffer.wantsEdit else { return }
    throttle.editBegan(now: now)
    if profile.settings.output == .preview { await showPreview(in: profile) } else { await flush(in: profile) }
  }

  private func showPreview(in profile: MessengerProfile) async {
    let text = buffer.source
    buffer.beginFlush()
    let shown =
      profile.fits(text) ? text : "[streaming, \(text.count) characters]\n…" + text.suffix(profile.limit / 4)
    await show(shown, streaming: true)
  }

  private func flush(in profile: MessengerProfile) async {
    buffer.beginFlush()
    let pieces = await render(buffer.source, final: false, in: profile)
    var consumed = 0
    for (index, piece) in pieces.enumerated() {
      if index == pieces.count - 1 {
        await show(piece.text, streaming: true)
        return
      }
      // Text that could not be recorded is tried again with the text that comes.
      guard await show(piece.text, streaming: false) else { return buffer.flushFailed() }
      buffer.fix(piece, after: consumed)
      if index == pieces.count - 2 { buffer.reopen(with: piece.reopen) }
      consumed = piece.consumed
    }
  }

  /// Shows the complete text. All its messages are recorded in one step, so that it is shown wholly or, by this daemon or
  /// the next, is known to be unfinished.
  func finish(in profile: MessengerProfile) async {
    buffer.beginFlush()
    let pieces = await render(buffer.source, final: true, in: profile)
    guard let first = pieces.first else { return }
    let rest = pieces.dropFirst().map { delivery.compose($0.text, role: .answer) }
    guard await show(first.text, streaming: false, followedBy: rest) else { return }
    for record in rest where await delivery.sendRecorded(record) == nil { isIncomplete = true }
  }

  /// Makes the growing message show this text; begins one if there is none.
  ///
  /// - Parameter rest: recorded together with the last change.
  /// - Returns: false when nothing could be recorded.
  @discardableResult
  private func show(_ text: String, streaming: Bool, followedBy rest: [OutboundRecord] = []) async -> Bool {
    guard let message = buffer.message else { return await beginMessage(text, streaming: streaming, followedBy: rest) }
    if streaming {
      if buffer.shows(text) { return true }
      checkpoint?.write(buffer.source)
      await change(message, to: text, streaming: true, as: nil)
      return true
    }
    // The final text must not get lost: it is recorded at the same time. If the daemon crashes before either step, the
    // message still counts as growing, and the checkpoint has all of its text.
    let mayGoAhead =
      !buffer.isReplaced && throttle.pause(now: now) == .zero && checkpoint?.write(buffer.source) == true
    let marked = buffer.mark + text
    let tryEdit = { @Sendable [delivery] edit in await delivery.edit(edit)?.answer }
    let edit = delivery.composeEdit(of: message, to: marked)
    async let early = mayGoAhead ? tryEdit(edit) : nil
    let key = await delivery.recordLast(marked, of: message, closing: buffer.key, followedBy: rest)
    let outcome = await early
    guard let key else {
      isIncomplete = true
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
    // The platform has asked for this wait; it holds for every kind of change.
    let pause = throttle.pause(now: now)
    if pause > .zero, early == nil {
      if streaming { return postpone(by: pause) }
      guard await delivery.timeSource.sleep(for: pause) else { return }
    }
    let edit = delivery.composeEdit(of: message, to: buffer.mark + text, streaming: streaming)
    switch await delivery.change(edit, key: record, early: early) {
    case .done: buffer.edited(to: text)
    case .putOff, .interrupted: break
    case .wait(let delay): postpone(by: delay)
    case .gone: await beginMessage(text, streaming: streaming, superseding: record)
    case .rejected: await giveUpEditing(text, streaming: streaming, as: record)
    case .setAside: isIncomplete = true
    }
  }

  /// The platform does not let the message grow any more: while it would, nothing further is tried; the whole text
  /// comes as a message of its own, and the message with a part of it is removed.
  private func giveUpEditing(_ text: String, streaming: Bool, as record: String?) async {
    if streaming {
      buffer.rejectEdits()
    } else if !buffer.shows(text) {
      let partial = buffer.message
      await beginMessage(text, streaming: false, superseding: record)
      if let partial, let message = buffer.message, message != partial { _ = await delivery.delete(partial) }
    } else {
      delivery.settleSend(record, .abandoned)
    }
  }

  @discardableResult
  private func beginMessage(
    _ text: String, streaming: Bool, followedBy rest: [OutboundRecord] = [], superseding: String? = nil
  ) async -> Bool {
    guard let mark = buffer.markForNew(text) else {
      return await delivery.record(rest, closing: buffer.key, superseding: superseding)
    }
    let record = delivery.compose(mark + text, role: .answer, streaming: streaming)
    if streaming {
      checkpoint = checkpoints.begin(record.key)
      checkpoint?.write(buffer.source)
      if !mark.isEmpty { checkpoint?.mark() }
    }
    // A message that is gone from the platform may have been growing under this key.
    let before = buffer.key
    let isRecorded = await delivery.record([record] + rest, closing: before, superseding: superseding)
    if let before { checkpoints.remove(before) }
    let growing = streaming ? checkpoint : nil
    let sent = isRecorded ? await delivery.sendRecorded(record, willMark: { growing?.mark() }) : nil
    buffer.beginMessage(sent, showing: text, mark: mark, grows: streaming)
    if sent == nil {
      isIncomplete = true
      // A change that was given up leaves nothing to complete; at the end of this daemon the next one tries again.
      if streaming, !Task.isCancelled {
        checkpoint = nil
        checkpoints.remove(record.key)
      }
    }
    return isRecorded
  }

  private func endCheckpoint() {
    checkpoint = nil
    if let key = buffer.key { checkpoints.remove(key) }
    buffer.endGrowth()
  }
}
