import AgentRuntime
import Approvals
import FoundationEssentials
import PiRPC
import RelayWire
import TestSupport
import Testing

@testable import RelayModel
@testable import SessionStates

/// The smaller values of a session.
@Suite struct SessionValuesTests {
  private func key(_ id: String) -> MessageKey {
    MessageKey(conversation: ConversationKey(instance: "fake/default", conversation: "c1"), id: id)
  }

  // MARK: - Questions

  private static let questions =
    MessageLifecycle.Question.allCases.map(SupervisorQuestion.message) + [.silence, .approval(approval())]

  private static func approval(session: Bool = true, persistent: Bool = true) -> ApprovalQuestion {
    ApprovalQuestion(
      id: "a_1",
      requester: Requester(
        conversation: ConversationKey(instance: "fake/default", conversation: "c1"), person: "ann"),
      requesterName: "Ann", offer: ApprovalOffer(session: session, persistent: persistent), summary: "git push")
  }

  @Test(arguments: questions)
  func `the labels of a question lead back to its answers, and to no other question's`(question: SupervisorQuestion) {
    #expect(question.answers.count == Set(question.answers.map(\.label)).count)
    for answer in question.answers { #expect(question.answer(labelled: answer.label) == answer) }
    for other in Self.questions.flatMap(\.answers) where !question.answers.contains(other) {
      #expect(question.answer(labelled: other.label) == nil)
    }
  }

  @Test func `a question about a message waits for a decision, one about a silent agent does not`() {
    var questions = QuestionSet()
    let (silence, message) = (questions.nextID(), questions.nextID())
    #expect(silence != message)
    questions.ask(silence, QuestionSet.Own(question: .silence) { _ in })
    #expect(!questions.awaitsDecision && questions.hasOwn && questions.silence == silence)
    questions.ask(message, QuestionSet.Own(question: .message(.possiblyTaken)) { _ in })
    #expect(questions.awaitsDecision && questions.count == 2)
    #expect(questions.takeOwn(message) != nil && questions.takeOwn(message) == nil)
    #expect(!questions.awaitsDecision)
  }

  @Test func `a tool call that waits holds up no message, and has only the answers that are offered`() {
    var questions = QuestionSet()
    let approval = Self.approval(session: false, persistent: false)
    questions.ask("a_1", QuestionSet.Own(question: .approval(approval)) { _ in })
    questions.ask(questions.nextID(), QuestionSet.Own(question: .silence) { _ in })
    #expect(!questions.awaitsDecision && questions.approvalIDs == ["a_1"])
    #expect(SupervisorQuestion.approval(approval).answers.map(\.label) == ["Approve once", "Deny"])
    #expect(approval.replies == ["relay approval approve a_1", "relay approval deny a_1"])
  }

  @Test func `a question of the agent is answered once`() {
    var questions = QuestionSet()
    questions.open(PiDialog(id: "1", kind: .input, title: "?"), began: .seconds(3))
    #expect(questions.hasDialogs && questions.isOpen("1") && !questions.hasOwn)
    #expect(questions.closeDialog("1") && !questions.closeDialog("1") && questions.isEmpty)
  }

  // MARK: - The transcript

  @Test func `a look-up counts once, and not for a message that was given again`() {
    var cursor = TranscriptCursor(isRestored: true)
    #expect(!cursor.isReconciled && cursor.takeLookup(of: key("1")) == nil)
    cursor.reconcile([
      DispatchedMessage(message: key("1"), position: .empty): .present,
      DispatchedMessage(message: key("2"), position: .empty): .absent,
    ])
    #expect(cursor.isReconciled)
    #expect(cursor.takeLookup(of: key("1")) == .present && cursor.takeLookup(of: key("1")) == nil)
    cursor.forgetLookup(of: key("2"))
    #expect(cursor.takeLookup(of: key("2")) == nil && cursor.isReconciled)
    cursor.adopt(lastEntry: "e")
    #expect(!cursor.isReconciled && cursor.lastEntry == "e")
  }

  @Test func `the position is the last entry that the current process has told`() {
    var cursor = TranscriptCursor(isRestored: false)
    #expect(cursor.isReconciled)
    #expect(cursor.note(leaf: nil, wasRewound: false, isCurrent: true) == .empty)
    #expect(cursor.note(leaf: "1", wasRewound: false, isCurrent: true) == .after("1"))
    #expect(cursor.note(leaf: nil, wasRewound: false, isCurrent: true) == .after("1"))
    #expect(cursor.note(leaf: "2", wasRewound: false, isCurrent: false) == .after("2"))
    #expect(cursor.lastEntry == "1")
    #expect(cursor.note(leaf: nil, wasRewound: true, isCurrent: true) == .empty)
    #expect(cursor.lastEntry == nil)
  }

  // MARK: - The model

  @Test func `a model that was chosen while the agent works is shown until the agent has been restarted with it`() {
    var model = ModelSelection(chosen: nil, shown: nil)
    #expect(model.learn("a") && !model.learn("a") && !model.learn(nil))
    model.choose("b", isIdle: false)
    #expect(!model.learn("a") && model.shown == "b" && model.chosen == "b")
    #expect(model.takeRestart() && !model.takeRestart())
    #expect(model.learn("B") && model.shown == "B" && model.chosen == "b")
    model.choose("c", isIdle: true)
    #expect(model.takeRestart() == false)
  }

  // MARK: - Retention

  @Test func `a transcript of one message is forgotten after each, any other is not`() throws {
    let folder = try TemporaryFolder()
    for (span, forgets) in [
      (TranscriptRetention.Span.oneMessage, true), (.idle(.seconds(1)), false), (.kept, false),
    ] {
      var retention = RetentionState(TranscriptRetention(folder: folder.path + "/none", span: span), now: 0)
      #expect(!retention.mustForget)
      retention.messageEnded(now: 10)
      #expect(retention.mustForget == forgets)
      retention.forgotten()
      #expect(!retention.mustForget)
      // Counted from the last message, where nothing was kept.
      #expect(retention.isUnused(for: .seconds(5), now: 15) == (span != .kept))
      #expect(!retention.isUnused(for: .seconds(5), now: 14))
    }
    var lasting = RetentionState(nil, now: 0)
    lasting.messageEnded(now: 10)
    #expect(!lasting.mustForget && !lasting.isUnused(for: .seconds(5), now: 1_000))
  }

  @Test func `a transcript that may prove that the agent has a message is kept before it`() throws {
    let retention = RetentionState(TranscriptRetention(folder: "/nowhere", span: .oneMessage), now: 0)
    var evidence = MessageLifecycle.Evidence()
    func prompt() -> Prompt {
      Prompt(key: key("1"), text: "", typed: "", life: MessageLifecycle(.queued, evidence))
    }
    #expect(retention.mayBeOver(before: prompt()) != nil)
    evidence.attempts = 1
    #expect(retention.mayBeOver(before: prompt()) == nil)
    evidence = MessageLifecycle.Evidence()
    evidence.mayHaveBeenTaken = true
    #expect(retention.mayBeOver(before: prompt()) == nil)
  }
}
