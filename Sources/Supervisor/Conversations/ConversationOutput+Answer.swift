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
    let unit = capabilities.lengthUnit ?? .utf16
    // Text that needs nothing done to it need not be sent anywhere.
    if capabilities.dialect == "markdown" || PlainText.isPlain(text), unit.isWithin(limit, text) {
      return text.isEmpty ? [] : [FormatRender.Piece(text: text, consumed: text.utf8.count)]
    }
    return await services.render(
      FormatRender(
        text: text, dialect: capabilities.dialect ?? "plain", limit: limit, unit: unit, final: final),
      of: "\(key)#\(streamNumber)")
  }

  /// Shows what has arrived, now or as soon as the platform likes another change.
  func showSoon() async {
    guard !flushScheduled else { return }
    let wait = max(lastFlush + editInterval, notBefore) - timekeeper.now()
    if wait > .zero { scheduleFlush(in: wait) } else { await flushNow() }
  }

  func scheduleFlush(in wait: Duration) {
    flushScheduled = true
    flushNumber += 1
    let number = flushNumber
    taskScope.add(on: EventLoop.shared) { [self, timekeeper] in
      if await timekeeper.sleep(for: wait) { post(.flush(number)) }
    }
  }

  func flushNow() async {
    flushScheduled = false
    guard stream.isDirty, !stream.isStuck else { return }
    lastFlush = timekeeper.now()
    if settings.output == .preview { await showPreview() } else { await flush(final: false) }
  }

  func flush(final: Bool) async {
    stream.clean()
    let pieces = await render(stream.source, final: final)
    if final { return await finish(with: pieces) }
    var consumed = 0
    for (index, piece) in pieces.enumerated() {
      if index == pieces.count - 1 {
        await show(piece.text, streaming: true)
        return
      }
      // What could not be recorded is tried again with what comes.
      guard await show(piece.text, streaming: false) else { return stream.append("") }
      stream.fix(piece, after: consumed)
      if index == pieces.count - 2 { stream.reopen(with: piece.reopen) }
      consumed = piece.consumed
    }
  }

  /// The text is complete: what all its messages are to show is recorded in one step, so that it is shown wholly or, by
  /// this daemon or the next, is known to be unfinished.
  private func finish(with pieces: [FormatRender.Piece]) async {
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
  func show(_ text: String, streaming: Bool, followedBy rest: [OutboundRecord] = []) async -> Bool {
    guard let message = stream.message else { return await begin(text, streaming: streaming, followedBy: rest) }
    if streaming {
      if text == stream.shown { return true }
      checkpoint?.write(stream.source)
      await change(message, to: text, streaming: true, as: nil)
      return true
    }
    // What it comes to in the end must not get lost: it is recorded while the platform is told. A crash of ours before
    // either leaves a message that grows, with all of its text in the checkpoint.
    let mayGoAhead =
      !stream.isReplaced && notBefore <= timekeeper.now() && checkpoint?.write(stream.source) == true
    let marked = stream.mark + text
    let edit = delivery.composeEdit(of: message, to: marked)
    async let early = mayGoAhead ? delivery.edit(edit)?.answer : nil
    let key = await delivery.recordLast(marked, of: message, closing: stream.key, followedBy: rest)
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
    // As the platform has asked, whatever the change is for.
    let pause = notBefore - timekeeper.now()
    if pause > .zero, early == nil {
      if streaming {
        stream.append("")
        return scheduleFlush(in: pause)
      }
      guard await timekeeper.sleep(for: pause) else { return }
    }
    let edit = delivery.composeEdit(of: message, to: stream.mark + text, streaming: streaming)
    switch await delivery.change(edit, key: record, early: early) {
    case .done: stream.shown = text
    case .putOff, .interrupted: break
    case .wait(let delay):
      notBefore = timekeeper.now() + delay
      stream.append("")
      scheduleFlush(in: delay)
    case .gone: await begin(text, streaming: streaming, superseding: record)
    case .rejected: await giveUpEditing(text, streaming: streaming, as: record)
    case .setAside: isIncomplete = true
    }
  }

  /// The platform does not let the message grow any more: while it would, nothing further is tried; the whole text
  /// comes as a message of its own, and the message with a part of it is removed.
  private func giveUpEditing(_ text: String, streaming: Bool, as record: String?) async {
    if streaming {
      stream.isStuck = true
    } else if text != stream.shown {
      let partial = stream.message
      await begin(text, streaming: false, superseding: record)
      if let partial, stream.message != nil, stream.message != partial { _ = await delivery.delete(partial) }
    } else {
      delivery.settle(record, .abandoned)
    }
  }

  @discardableResult
  func begin(
    _ text: String, streaming: Bool, followedBy rest: [OutboundRecord] = [], superseding: String? = nil
  ) async -> Bool {
    // Not a third time; what is longer may be tried, and says that it may repeat something.
    if text == stream.setAside {
      return await delivery.record(rest, closing: stream.key, superseding: superseding)
    }
    let mark = stream.setAside == nil ? "" : Delivery.repeatMark
    let record = delivery.compose(mark + text, role: .answer, streaming: streaming)
    if streaming {
      checkpoint = checkpoints.begin(record.key)
      checkpoint?.write(stream.source)
      if !mark.isEmpty { checkpoint?.mark() }
    }
    // One that is gone from the platform may have been growing under it.
    let before = stream.key
    let isRecorded = await delivery.record([record] + rest, closing: before, superseding: superseding)
    if let before { checkpoints.remove(before) }
    let growing = streaming ? checkpoint : nil
    let sent = isRecorded ? await delivery.sendRecorded(record, willMark: { growing?.mark() }) : nil
    take(sent, streaming: streaming)
    stream.shown = text
    if sent == nil {
      isIncomplete = true
      stream.setAside = text
      stream.isStuck = true
      // Where it was given up, nothing is left to complete; where this daemon ends, the next one tries again.
      if streaming, !Task.isCancelled {
        checkpoint = nil
        checkpoints.remove(record.key)
      }
    } else if !mark.isEmpty {
      stream.mark = mark
    }
    return isRecorded
  }

  func take(_ sent: Delivery.Sent?, streaming: Bool) {
    stream.message = sent?.message
    stream.mark = sent?.mayBeRepeat == true ? Delivery.repeatMark : ""
    stream.key = streaming ? sent?.key : nil
  }

  private func endCheckpoint() {
    checkpoint = nil
    if let key = stream.key { checkpoints.remove(key) }
    stream.key = nil
  }

  func showPreview() async {
    let text = stream.source
    stream.clean()
    let unit = capabilities.lengthUnit ?? .utf16
    let shown = unit.isWithin(limit, text) ? text : "[streaming, \(text.count) characters]\n…" + text.suffix(limit / 4)
    await show(shown, streaming: true)
  }

  func beginStream() {
    stream = StreamedText()
    streamNumber += 1
  }

  func end(_ message: PiMessage) async {
    flushScheduled = false
    flushNumber += 1
    let text = redaction.apply(to: message.text)
    stream.complete(with: text, through: redaction)
    if !stream.isEmpty {
      await flushTools()
      await flush(final: true)
      let unit = capabilities.lengthUnit ?? .utf16
      if !unit.isWithin(Self.mostMessages * limit, text) { await sendAsFile(text) }
    }
    beginStream()
  }

  /// An answer of more messages than this comes as a file, too, with its tables as they were written.
  static let mostMessages = 5

  /// Shows what has been streamed so far before something else is said. The message goes on growing above it; where
  /// messages cannot grow, it is sent when it is complete.
  func breakStream() async {
    guard stream.isDirty, capabilities.edit == true, settings.output == .stream else { return }
    flushScheduled = false
    flushNumber += 1
    await flush(final: false)
  }
}
