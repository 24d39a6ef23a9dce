internal import RelayStore
internal import RelayWire

// What an earlier daemon left unfinished in this conversation: nothing stays half shown.
extension ConversationOutput {
  func resume(_ unfinished: UnfinishedOutbound) async {
    switch unfinished.record.request {
    case .message(let message) where unfinished.record.isOpen && message.role == .tools:
      // The tool it told of is gone.
      guard let sent = await found(unfinished) else { return }
      await remove(sent)
    case .message where unfinished.record.isOpen: await completeGrowing(unfinished)
    case .dialog(let dialog):
      // The agent that asked is gone, and its question with it.
      guard let sent = await found(unfinished) else { return }
      let text = "✖ The question was withdrawn: pi-relayd was restarted."
      await delivery.closeDialog(dialog.dialog, shown: sent, text: text)
    case .file(let file):
      // A restored database may name files that have gone since.
      if await !delivery.resend(unfinished) {
        await tellGivenUp("\(SafeText.line(file.name)) could not be shown here; the session has it.")
      }
      await removeSpooled(file.path)
    default: _ = await delivery.resend(unfinished)
    }
  }

  private func found(_ unfinished: UnfinishedOutbound) async -> Delivery.Sent? {
    if let sent = await delivery.whereabouts(of: unfinished) { return sent }
    if !Task.isCancelled { delivery.settle(unfinished.record.key, .abandoned) }
    return nil
  }

  /// Brings a growing message to its end, with all that it was made to show.
  private func completeGrowing(_ unfinished: UnfinishedOutbound) async {
    let record = unfinished.record
    guard let saved = checkpoints.load(record.key) else {
      // The machine went down: the platform knows better than we do what the message shows.
      if unfinished.message != nil { return delivery.store.closeOutboundSoon(record.key) }
      let complete = UnfinishedOutbound(record: record.complete, tries: unfinished.tries)
      _ = await delivery.resend(complete)
      return
    }
    var sent = unfinished.message.map { Delivery.Sent(key: record.key, message: $0) }
    if sent == nil {
      sent = await delivery.sendRecorded(record, mayHaveArrived: true, after: unfinished.tries) {
        checkpoints.mark(record.key)
      }
    }
    guard var sent else { return }
    if saved.isMarked { sent.mayBeRepeat = true }
    beginStream()
    take(sent, streaming: true)
    stream.append(saved.text)
    await services.waitForFormatter()
    await flush(final: true)
    beginStream()
  }
}
