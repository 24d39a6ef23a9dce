import AgentSessions
import PiRPC
import RelayConcurrency
import RelayModel
import SessionStates
import Testing

@testable import Conversations

@Suite struct SessionWatchersTests {
  /// Watchers, and everything that they have posted.
  private struct Trial {
    let watchers: SessionSubscriptions
    private let posted = Locked<[(event: OutputEvent, key: ConversationKey)]>([])

    init() {
      watchers = SessionSubscriptions(dialogs: QuestionRegistry(), timekeeper: Timekeeper(clock: ContinuousClock())) {
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

  @Test func `an event goes to each conversation that is shown the session`() {
    let trial = Trial()
    trial.watchers.watch("s1", key("all"), .everything)
    trial.watchers.watch("s1", key("own"), .ownRuns)
    trial.watchers.watch("s2", key("other"), .everything)
    trial.watchers.tell("s1", .text("hello"))
    #expect(trial.takePosts() == ["all: hello"])
    trial.watchers.tell("s1", .messageTaken(MessageKey(conversation: key("own"), id: "1")))
    _ = trial.takePosts()
    trial.watchers.tell("s1", .text("again"))
    #expect(trial.takePosts() == ["all: again", "own: again"])
  }

  @Test func `a conversation that begins to watch is asked what is open, once`() {
    let trial = Trial()
    trial.watchers.tell("s1", question)
    #expect(trial.takePosts().isEmpty)
    trial.watchers.watch("s1", key("one"), .everything)
    #expect(trial.takePosts() == ["one: ask Sure?"])
    trial.watchers.watch("s1", key("one"), .everything)
    #expect(trial.takePosts().isEmpty)
  }

  @Test func `a conversation watches one session at a time`() {
    let trial = Trial()
    trial.watchers.watch("s1", key("one"), .everything)
    trial.watchers.watch("s2", key("one"), .everything)
    #expect(trial.takePosts() == ["one: detached"])
    trial.watchers.tell("s1", .text("hello"))
    #expect(trial.takePosts().isEmpty)
    #expect(trial.watchers.session(of: key("one")) == "s2")
    #expect(trial.watchers.sessions(watchedFrom: "fake/default") == ["s2"])
    #expect(trial.watchers.sessions(watchedFrom: "other/default").isEmpty)
  }

  @Test(arguments: [true, false])
  func `a session or a conversation that has gone is watched no more`(isSession: Bool) {
    let trial = Trial()
    trial.watchers.watch("s1", key("one"), .everything)
    trial.watchers.watch("s1", key("two"), .everything)
    if isSession {
      #expect(Set(trial.watchers.forget("s1")) == [key("one"), key("two")])
    } else {
      for conversation in ["one", "two"] { trial.watchers.drop(key(conversation)) }
      #expect(trial.watchers.forget("s1").isEmpty)
    }
    #expect(trial.watchers.session(of: key("one")) == nil)
    #expect(trial.watchers.sessions(watchedFrom: "fake/default").isEmpty)
    trial.watchers.tell("s1", .text("hello"))
    #expect(trial.takePosts().isEmpty)
  }

  @Test func `a view is handed over as it is`() {
    let (before, after) = (Trial(), Trial())
    before.watchers.watch("s1", key("own"), .ownRuns)
    before.watchers.tell("s1", .messageTaken(MessageKey(conversation: key("own"), id: "1")))
    after.watchers.adopt("s1", key("own"), before.watchers.view(of: key("own")))
    after.watchers.tell("s1", .text("hello"))
    #expect(after.takePosts() == ["own: hello"])
  }
}
