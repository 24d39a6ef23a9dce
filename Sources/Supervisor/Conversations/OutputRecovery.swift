internal import ContentServices
internal import MessageDelivery
internal import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayWire

/// Completes the output that an earlier daemon left unfinished in one conversation: nothing stays half shown.
///
/// A part of the conversation's output, in whose isolation its methods run.
struct OutputRecovery {
  let delivery: MessageSender
  let services: Services
  let checkpoints: StreamCheckpoints
  let notices: NoticeSender
  let files: FileSender
  let answer: AnswerPresenter
  let questions: QuestionPresenter

  func complete(_ unfinished: UnfinishedOutbound, in profile: MessengerProfile) async {
    switch unfinished.record.request {
    case .message(let message) where unfinished.record.isOpen && message.role != .answer:
      // The tool, compaction or retry of this message no longer runs.
      guard let sent = await found(unfinished) else { return }
      await delivery.remove(sent)
    case .message where unfinished.record.isOpen: await completeGrowing(unfinished, in: profile)
    case .dialog(let dialog):
      // The agent that asked is gone, and its question with it.
      guard let sent = await found(unfinished) else { return }
      let title =
        dialog.text.split(separator: "\n").first.map {
          TextSanitizer.line(String($0).replacing("**", with: "").replacing("❓ ", with: ""), limit: 200)
        } ?? ""
      let text = "✖ The question was withdrawn, because pi-relayd was restarted: \(title)"
      await questions.close(dialog.dialog, sent, text: text, in: profile)
    case .file(let file):
      // A restored database may name files that have gone since.
      if await !delivery.resend(unfinished) {
        await notices.tellGivenUp(
          "\(TextSanitizer.line(file.name)) could not be shown here; the session has it.", in: profile)
      }
      await files.remove(file.path)
    default:
      // Its words are in its record.
      checkpoints.remove(unfinished.record.key)
      _ = await delivery.resend(unfinished)
    }
  }

  private func found(_ unfinished: UnfinishedOutbound) async -> MessageSender.Sent? {
    if let sent = await delivery.locate(unfinished) { return sent }
    if !Task.isCancelled { delivery.settleSend(unfinished.record.key, .abandoned) }
    return nil
  }

  /// Brings a growing message to its end, with all that it was made to show.
  private func completeGrowing(_ unfinished: UnfinishedOutbound, in profile: MessengerProfile) async {
    var record = unfinished.record
    guard let saved = checkpoints.load(record.key), !saved.text.isEmpty else { return await leaveAsShown(unfinished) }
    if record.hasKeyOnly, unfinished.message == nil {
      guard let first = await recordWords(saved.text, of: unfinished, in: profile) else { return }
      record = first
    }
    var sent = unfinished.message.map { MessageSender.Sent(key: record.key, message: $0) }
    if sent == nil {
      sent = await delivery.sendRecorded(record, mayHaveArrived: true, after: unfinished.tries) {
        checkpoints.mark(record.key)
      }
    }
    guard var sent else {
      if !Task.isCancelled { checkpoints.remove(record.key) }
      return
    }
    if saved.isMarked { sent.mayBeRepeat = true }
    await services.waitForFormatter()
    await answer.complete(sent, text: saved.text, in: profile)
  }

  /// Records the words of an answer under the key that an earlier version recorded without words.
  ///
  /// - Returns: the message to complete; `nil` where nothing remains to do, or nothing can be stored.
  private func recordWords(
    _ text: String, of unfinished: UnfinishedOutbound, in profile: MessengerProfile
  ) async -> OutboundRecord? {
    await services.waitForFormatter()
    let key = unfinished.record.key
    let pieces = await answer.render(text, final: true, in: profile)
    let grows = profile.editsMessages
    let records = pieces.prefix(grows ? 1 : pieces.count).enumerated().map { index, piece in
      delivery.compose(piece.text, role: .answer, streaming: grows, key: index == 0 ? key : nil)
    }
    guard await delivery.record(records, superseding: key) else { return nil }
    if grows { return records.first }
    checkpoints.remove(key)
    for (index, record) in records.enumerated() {
      _ = await delivery.sendRecorded(record, mayHaveArrived: index == 0, after: unfinished.tries)
    }
    return nil
  }

  /// Nothing was written down of what it showed, or that was before the machine went down: the platform knows better.
  private func leaveAsShown(_ unfinished: UnfinishedOutbound) async {
    let record = unfinished.record
    checkpoints.remove(record.key)
    if unfinished.message != nil { return delivery.store.scheduleCloseOutbound(record.key) }
    if record.hasKeyOnly { return delivery.settleSend(record.key, .abandoned) }
    _ = await delivery.resend(UnfinishedOutbound(record: record.complete, tries: unfinished.tries))
  }
}
