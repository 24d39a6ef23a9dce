internal import PiRPC
internal import RelayConfig
internal import RelayPipes
internal import RelayStore
internal import RelayWire

// The agent's answer: gathered as it streams, shown at the platform's pace, and fixed piece by piece.
extension ConversationOutput {
  func render(_ text: String, final: Bool) async -> [FormatRender.Piece] {
    let unit = capabilities.lengthUnit ?? .utf16
    // Text that needs nothing done to it need not be sent anywhere.
    if capabilities.dialect == "markdown", unit.isWithin(limit, text) {
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
    nursery.add { [self, timekeeper] in
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
    var consumed = 0
    for (index, piece) in pieces.enumerated() {
      let isLast = index == pieces.count - 1
      if isLast, !final {
        await show(piece.text, streaming: true)
        return
      }
      await show(piece.text, streaming: false)
      stream.fix(piece, after: consumed)
      if !final, index == pieces.count - 2 { stream.reopen(with: piece.reopen) }
      consumed = piece.consumed
    }
  }

  /// Makes the growing message show this text; begins one if there is none.
  func show(_ text: String, streaming: Bool) async {
    guard let message = stream.message else {
      await begin(text, streaming: streaming)
      return
    }
    if text == stream.shown, streaming { return }
    // What it comes to in the end must not get lost; what it shows on the way may.
    let record = streaming ? nil : await delivery.recordLast(stream.mark + text, of: message)
    var deaths = 0
    for _ in 0..<Delivery.maximumAttempts {
      switch await delivery.edit(message, stream.mark + text, streaming: streaming) {
      case .done:
        delivery.settle(record, .sent(message: message))
        stream.shown = text
        return
      case .wait(let delay):
        notBefore = timekeeper.now() + delay
        if streaming {
          stream.append("")
          scheduleFlush(in: delay)
          return
        }
        guard await timekeeper.sleep(for: delay) else { return }
      case .gone:
        await begin(text, streaming: streaming)
        delivery.settle(record, .failed("the message is gone"))
        return
      case .failed:
        await giveUpEditing(text, streaming: streaming)
        delivery.settle(record, .failed("the message cannot be changed any more"))
        return
      case .over: return
      case .lost:
        deaths += 1
        guard deaths < Delivery.maximumDeaths else {
          delivery.log("\(key): a change of a message ended its messenger \(deaths) times and was set aside")
          delivery.settle(record, .failed("it ended the messenger \(deaths) times"))
          isIncomplete = true
          return
        }
      }
    }
    await giveUpEditing(text, streaming: streaming)
    delivery.settle(record, .failed("given up after \(Delivery.maximumAttempts) tries"))
  }

  /// The platform does not let the message grow any more: while it would, nothing further is tried; the whole text
  /// comes as a message of its own.
  func giveUpEditing(_ text: String, streaming: Bool) async {
    if streaming {
      stream.isStuck = true
    } else if text != stream.shown {
      await begin(text, streaming: false)
    }
  }

  func begin(_ text: String, streaming: Bool) async {
    let sent = await delivery.send(text, role: .answer, streaming: streaming)
    if sent == nil { isIncomplete = true }
    stream.message = sent?.message
    stream.mark = sent?.mayBeRepeat == true ? Delivery.repeatMark : ""
    stream.shown = text
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
    stream.complete(with: message.text)
    if !stream.isEmpty {
      await flushTools()
      await flush(final: true)
    }
    beginStream()
  }

  /// Shows what has been streamed so far before something else is said. The message goes on growing above it; where
  /// messages cannot grow, it is sent when it is complete.
  func breakStream() async {
    guard stream.isDirty, capabilities.edit == true, settings.output == .stream else { return }
    flushScheduled = false
    flushNumber += 1
    await flush(final: false)
  }
}
