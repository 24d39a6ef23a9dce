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
      let title = dialog.text.split(separator: "\n").first.map { SafeText.line(String($0), limit: 200) } ?? ""
      let text = "✖ The question was withdrawn, because pi-relayd was restarted: \(title)"
      await delivery.closeDialog(dialog.dialog, shown: sent, text: text)
    case .file(let file):
      // A restored database may name files that have gone since.
      if await !delivery.resend(unfinished) {
        await tellGivenUp("\(SafeText.line(file.name)) could not be shown here; the session has it.")
      }
      await removeSpooled(file.path)
    default:
      // Its words are in its record.
      checkpoints.remove(unfinished.record.key)
      _ = await delivery.resend(unfinished)
    }
  }

  private func found(_ unfinished: UnfinishedOutbound) async -> Delivery.Sent? {
    if let sent = await delivery.whereabouts(of: unfinished) { return sent }
    if !Task.isCancelled { delivery.settle(unfinished.record.key, .abandoned) }
    return nil
  }

  /// Brings a growing message to its end, with all that it was made to show.
  private func completeGrowing(_ unfinished: UnfinishedOutbound) async {
    var record = unfinished.record
    guard let saved = checkpoints.load(record.key), !saved.text.isEmpty else { return await leaveAsShown(unfinished) }
    var isWhole = false
    if record.isReserved, unfinished.message == nil {
      await services.waitForFormatter()
      let pieces = await render(saved.text, final: true)
      guard let first = pieces.first else { return await leaveAsShown(unfinished) }
      isWhole = capabilities.edit != true
      record = delivery.compose(first.text, role: .answer, streaming: !isWhole, key: record.key)
      if isWhole, pieces.count > 1 {
        await tellGivenUp("Part of this answer could not be shown here; the session has it all.")
      }
    }
    var sent = unfinished.message.map { Delivery.Sent(key: record.key, message: $0) }
    if sent == nil {
      sent = await delivery.sendRecorded(record, mayHaveArrived: true, after: unfinished.tries) {
        checkpoints.mark(record.key)
      }
    }
    guard var sent else { return }
    if isWhole {
      delivery.store.closeOutboundSoon(record.key)
      return checkpoints.remove(record.key)
    }
    if saved.isMarked { sent.mayBeRepeat = true }
    beginStream()
    take(sent, streaming: true)
    stream.append(saved.text)
    await services.waitForFormatter()
    await flush(final: true)
    beginStream()
  }

  /// Nothing was written down of what it showed, or that was before the machine went down: the platform knows better.
  private func leaveAsShown(_ unfinished: UnfinishedOutbound) async {
    let record = unfinished.record
    checkpoints.remove(record.key)
    if unfinished.message != nil { return delivery.store.closeOutboundSoon(record.key) }
    if record.isReserved { return delivery.settle(record.key, .abandoned) }
    _ = await delivery.resend(UnfinishedOutbound(record: record.complete, tries: unfinished.tries))
  }
}
