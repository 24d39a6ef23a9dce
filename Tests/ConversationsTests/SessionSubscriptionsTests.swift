import Approvals
import PiRPC
import RelayConcurrency
import RelayModel
import SessionStates
import TestSupport
import Testing

@testable import Conversations

@Suite struct SessionSubscriptionsTests {
  /// Watchers, and everything that they have posted.
  private struct Trial {
    let subscriptions: SessionSubscriptions
    private let posted = Locked<[(event: OutputEvent, key: ConversationKey)]>([])

    init() {
      subscriptions = SessionSubscriptions(
        questions: QuestionRegistry(), timeSource: TimeSource(clock: ContinuousClock())
      ) {
        [posted] event, key in posted.withLock { $0.append((event, key)) }
      }
    }

    /// In words, each behind its conversation.
    func takePosts() -> Set<String> {
      let posts = posted.withLock { posts in
        defer { posts = [] }
        return posts
      }
      return Set(
        posts.map { event, key in
          switch event {
          case .event(.text(let text)): "\(key.conversation): \(text)"
          case .ask(let record): "\(key.conversation): ask \(record.dialog.title)"
          case .detached: "\(key.conversation): detached"
          default: "\(key.conversation): other"
          }
        })
    }
  }

  private func key(_ conversation: String, at instance: String = "fake/default") -> ConversationKey {
    ConversationKey(instance: instance, conversation: conversation)
  }

  private let question = SessionEvent.dialogOpened(
    Question(PiDialog(id: "q", kind: .confirm, title: "Sure?"), origin: .agent), of: nil)

  @Test func `an event goes to each conversation that watches the session`() {
    let trial = Trial()
    trial.subscriptions.watch("s1", key("all"), .everything)
    trial.subscriptions.watch("s1", key("own"), .ownRuns)
    trial.subscriptions.watch("s2", key("other"), .everything)
    trial.subscriptions.tell("s1", .text("hello"))
    #expect(trial.takePosts() == ["all: hello"])
    trial.subscriptions.tell(
      "s1", .messageTaken(MessageEnd(of: MessageKey(conversation: key("own"), id: "1"), .takenIntoRun)))
    _ = trial.takePosts()
    trial.subscriptions.tell("s1", .text("again"))
    #expect(trial.takePosts() == ["all: again", "own: again"])
  }

  @Test func `only the conversation of its request is asked about a tool call`() throws {
    let trial = Trial()
    for conversation in ["requester", "watcher"] { trial.subscriptions.watch("s1", key(conversation), .everything) }
    let approval = ApprovalQuestion(
      id: "a_1", requester: Requester(conversation: key("requester"), person: "ann"), requesterName: "Ann",
      offer: ApprovalOffer(session: true, persistent: false), summary: "git push")
    let dialog = PiDialog(id: "a_1", kind: .select, title: "Push?", options: ["Approve once", "Deny"])
    trial.subscriptions.tell(
      "s1", .dialogOpened(Question(dialog, origin: .supervisor(.approval(approval))), of: nil))
    #expect(trial.takePosts() == ["requester: ask Push?"])
    trial.subscriptions.watch("s1", key("later"), .everything)
    #expect(trial.takePosts().isEmpty)
    for conversation in ["requester", "watcher"] {
      #expect(trial.subscriptions.question(to: key(conversation), "1") == nil)
    }
    // Other questions of the relay neither end it nor are ended by it.
    trial.subscriptions.tell("s1", .questionsOver)
    trial.subscriptions.tell(
      "s1",
      .dialogOpened(
        Question(PiDialog(id: "q", kind: .select, title: "Wait?"), origin: .supervisor(.silence)), of: nil))
    #expect(trial.takePosts() == ["requester: ask Wait?", "watcher: ask Wait?", "later: ask Wait?"])
    trial.subscriptions.tell("s1", .dialogWithdrawn(id: "a_1", why: "too late"))
    #expect(trial.takePosts() == ["requester: other"])
  }

  @Test func `a conversation that begins to watch is asked the open questions once`() {
    let trial = Trial()
    trial.subscriptions.tell("s1", question)
    #expect(trial.takePosts().isEmpty)
    trial.subscriptions.watch("s1", key("one"), .everything)
    #expect(trial.takePosts() == ["one: ask Sure?"])
    trial.subscriptions.watch("s1", key("one"), .everything)
    #expect(trial.takePosts().isEmpty)
  }

  @Test func `an observer is told everything of its session until it ends, and watches nothing`() {
    let trial = Trial()
    let told = Locked<[String]>([])
    let number = trial.subscriptions.observe("s1") { item in
      told.withLock { lines in
        switch item {
        case .event(.text(let text)): lines.append(text)
        case .event(.nameOrModelChanged): lines.append("changed")
        case .event(.closed): lines.append("closed")
        case .ask(let record): lines.append("ask \(record.dialog.title)")
        case .settleDialog(_, .unanswered(let why)): lines.append(why)
        default: lines.append("other")
        }
      }
    }
    trial.subscriptions.watch("s1", key("one"), .everything)
    trial.subscriptions.tell("s1", .text("hello"))
    trial.subscriptions.tell("s2", .text("elsewhere"))
    trial.subscriptions.tell("s1", question)
    trial.subscriptions.tell("s1", .dialogWithdrawn(id: "q", why: "late"))
    trial.subscriptions.tell("s1", .nameOrModelChanged)
    // The conversations turn away, and the session goes on.
    _ = trial.subscriptions.forget("s1")
    trial.subscriptions.tell("s1", .text("more"))
    #expect(told.withLock { $0 } == ["hello", "ask Sure?", "withdrawn: late", "changed", "more"])
    trial.subscriptions.endObservation(number, of: "s1")
    trial.subscriptions.tell("s1", .text("unheard"))
    #expect(told.withLock(\.count) == 5)
    _ = trial.subscriptions.observe("s1") { _ in told.withLock { $0.append("again") } }
    trial.subscriptions.tell("s1", .closed)
    trial.subscriptions.tell("s1", .closed)
    #expect(told.withLock(\.count) == 6)
  }

  @Test func `a conversation watches one session at a time`() {
    let trial = Trial()
    trial.subscriptions.watch("s1", key("one"), .everything)
    trial.subscriptions.watch("s2", key("one"), .everything)
    #expect(trial.takePosts() == ["one: detached"])
    trial.subscriptions.tell("s1", .text("hello"))
    #expect(trial.takePosts().isEmpty)
    #expect(trial.subscriptions.session(of: key("one")) == "s2")
    #expect(trial.subscriptions.sessions(watchedFrom: "fake/default") == ["s2"])
    #expect(trial.subscriptions.sessions(watchedFrom: "other/default").isEmpty)
  }

  @Test(arguments: [true, false])
  func `a closed session or a removed conversation has no subscription left`(isSession: Bool) {
    let trial = Trial()
    trial.subscriptions.watch("s1", key("one"), .everything)
    trial.subscriptions.watch("s1", key("two"), .everything)
    if isSession {
      #expect(Set(trial.subscriptions.forget("s1")) == [key("one"), key("two")])
    } else {
      for conversation in ["one", "two"] { trial.subscriptions.drop(key(conversation)) }
      #expect(trial.subscriptions.forget("s1").isEmpty)
    }
    #expect(trial.subscriptions.session(of: key("one")) == nil)
    #expect(trial.subscriptions.sessions(watchedFrom: "fake/default").isEmpty)
    trial.subscriptions.tell("s1", .text("hello"))
    #expect(trial.takePosts().isEmpty)
  }

  @Test func `a subscription is handed over to the next program unchanged`() {
    let (before, after) = (Trial(), Trial())
    before.subscriptions.watch("s1", key("own"), .ownRuns)
    before.subscriptions.tell(
      "s1", .messageTaken(MessageEnd(of: MessageKey(conversation: key("own"), id: "1"), .takenIntoRun)))
    after.subscriptions.adopt("s1", key("own"), before.subscriptions.view(of: key("own")))
    after.subscriptions.tell("s1", .text("hello"))
    #expect(after.takePosts() == ["own: hello"])
  }
}
