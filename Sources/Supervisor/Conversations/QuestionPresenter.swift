internal import FoundationEssentials
internal import MessageDelivery
internal import PiRPC
internal import RelayModel
internal import RelayText
internal import RelayWire

/// Shows questions, and puts their outcome in their place.
///
/// A part of one conversation's output, in whose isolation its methods run.
final class QuestionPresenter {
  private(set) var shown = ShownQuestions()
  private let delivery: MessageSender
  private let redaction: Redactor
  private let notices: NoticeSender

  init(_ delivery: MessageSender, _ redaction: Redactor, _ notices: NoticeSender) {
    self.delivery = delivery
    self.redaction = redaction
    self.notices = notices
  }

  /// Continues where the predecessor of this process stopped.
  func adopt(_ snapshot: ShownQuestions) { shown = snapshot }

  func ask(_ record: PendingQuestion, in profile: MessengerProfile) async {
    let question = record.question(in: profile.dialect, through: redaction)
    let sent = await delivery.show(
      DialogShow(
        key: UUID().uuidString, conversation: delivery.conversation.conversation, dialog: record.id, kind: record.kind,
        text: question, buttons: record.buttons(within: profile.capabilities.buttons, through: redaction),
        prefill: prefill(of: record),
        expires: record.expires))
    shown.show(record.id, sent)
    guard sent == nil, !Task.isCancelled else { return }
    // The agent waits for the answer, so a question that cannot be shown with its buttons is sent as text in pieces.
    await notices.tellGivenUp(
      "The question below could not be shown as it should be; answer it in words.", in: profile)
    let pieces = PlainText.split(question, limit: profile.limit, unit: profile.unit)
    for piece in pieces {
      shown.show(record.id, await delivery.send(delivery.compose(piece.text, role: .dialog)))
    }
  }

  /// A redacted prefill would come back as the answer.
  private func prefill(of record: PendingQuestion) -> String? {
    record.dialog.prefill.flatMap { redaction.apply(to: $0) == $0 ? $0 : nil }
  }

  func settleQuestion(_ record: PendingQuestion, _ outcome: PendingQuestion.Outcome, in profile: MessengerProfile) async
  {
    guard let sent = shown.takeMessage(of: record.id) else { return }
    let text = record.closing(outcome, through: redaction)
    if case .answered = outcome { return await delivery.closeDialog(record.id, shown: sent, text: text) }
    await close(record.id, sent, text: text, in: profile)
  }

  /// Puts a text in the place of a question that nobody answered, or beneath it where the messenger cannot change it.
  func close(_ dialog: String, _ sent: MessageSender.Sent, text: String, in profile: MessengerProfile) async {
    let below =
      profile.editsQuestions
      ? nil : PlainText.split(text, limit: profile.limit, unit: profile.unit).map(\.text)
    await delivery.closeDialog(dialog, shown: sent, text: text, below: below)
  }

  /// The conversation turns to another session.
  func detach() async {
    for (id, sent) in shown.takeAll() {
      await delivery.closeDialog(id, shown: sent, text: "(moved to another session)")
    }
  }
}
