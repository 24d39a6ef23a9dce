import AgentRuntime
import FoundationEssentials
import Glibc
import PiRPC
import RelayConcurrency
import RelayLogging
import RelayStore
import RelayWire
import SessionStates
import TestSupport
import Testing

@testable import AgentSessions
@testable import RelayModel

extension Session {
  fileprivate func begin(_ prompt: Prompt, steering: [Prompt] = []) {
    current.begin(prompt, now: .zero)
    for one in steering { current.run?.steer(one, text: one.text) }
  }

  fileprivate func withdrawSteered(_ key: MessageKey) { _ = current.run?.withdrawSteering(key) }

  fileprivate func agentExitsWhilePreparing() async -> MessageLifecycle.Next {
    await take(.agentExited(wasGiven: false))
  }

  fileprivate func requeueSteering() async { await requeue(current.run?.removeSteering() ?? []) }

  fileprivate var waiting: [MessageKey] { queue.keys }
}

/// A session's turns at moments that an agent does not reach by itself.
@Suite(.timeLimit(.minutes(1))) struct TurnTests {
  private func prompt(_ text: String, _ life: MessageLifecycle = MessageLifecycle()) -> Prompt {
    let conversation = ConversationKey(instance: "fake/default", conversation: "c1")
    return Prompt(key: MessageKey(conversation: conversation, id: text), text: text, typed: text, life: life)
  }

  private func stored(_ prompt: Prompt) -> StoredMessage {
    StoredMessage(
      key: prompt.key,
      message: MessageReceived(
        id: prompt.key.id, conversation: Conversation(id: "c1", kind: .dm), sender: Sender(id: "1", name: "n"),
        text: prompt.text))
  }

  @Test func `a message whose agent exited is in the queue before that is stored`() async throws {
    let folder = try TemporaryFolder()
    try await SessionFixture.run(works: false, in: folder) { session, _, store in
      let one = prompt("one", MessageLifecycle(.preparing))
      _ = try await store.accept(stored(one), state: nil)
      await session.begin(one)
      async let next = session.agentExitsWhilePreparing()
      // The store has not answered yet, or has: the message is never in neither place.
      while await session.waiting.isEmpty { await Task.yield() }
      #expect(await session.withdraw(one.key) == .done)
      #expect(await next == .queueInFront)
      #expect(await session.waiting.isEmpty)
    }
  }

  @Test func `steering that the run did not take is in the queue while the end of another is stored`() async throws {
    let folder = try TemporaryFolder()
    try await SessionFixture.run(works: false, in: folder) { session, _, store in
      var life = MessageLifecycle()
      life.take(.steered)
      let (withdrawn, waits) = (prompt("s1", life), prompt("s2", life))
      for one in [withdrawn, waits] { _ = try await store.accept(stored(one), state: nil) }
      await session.begin(prompt("first", MessageLifecycle(.running)), steering: [withdrawn, waits])
      await session.withdrawSteered(withdrawn.key)
      async let done: Void = session.requeueSteering()
      var held = MessageChange.tooLate
      while held == .tooLate {
        await Task.yield()
        held = await session.holds(waits.key)
      }
      #expect(held == .done)
      await done
      #expect(await session.waiting == [waits.key])
    }
  }

  /// A pi of Python, whose `body` handles `c`, a command.
  private func pi(_ help: String, before: String = "", _ body: String, in folder: TemporaryFolder) throws -> String {
    let script = """
      #!/usr/bin/env python3
      import sys, json, os
      if "--version" in sys.argv: print("0.60.0"); sys.exit(0)
      if "--help" in sys.argv: print("\(help)"); sys.exit(0)
      def say(o): print(json.dumps(o), flush=True)
      def run(text):
          say({"type": "agent_start"})
          say({"type": "message_start", "message": {"role": "user", "content": [{"type": "text", "text": text}]}})
          say({"type": "agent_end", "messages": [], "willRetry": False})
          say({"type": "agent_settled"})
      def answer(c, data={}):
          say({"type": "response", "id": c.get("id"), "command": c["type"], "success": True, "data": data})
      \(before)
      for line in sys.stdin:
          c = json.loads(line)
      \(body.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n"))
      """
    return try folder.write("pi", script, executable: true)
  }

  /// How the message ended, or the question that was asked about it.
  private func outcome(of key: MessageKey, _ events: Mailbox<SessionEvent>) async -> String {
    while let event = await events.next() {
      if case .dialogOpened(let question, _) = event { return "asked: \(question.dialog.title)" }
      if case .runEnded(let message, let end) = event, message.key == key { return "\(end)" }
    }
    return "nothing"
  }

  @Test func `a run that the agent begins by itself before the message is not taken for the message's`() async throws {
    let folder = try TemporaryFolder()
    let agent = try pi(
      "--mode --session",
      """
      if c["type"] == "get_state": run("of an extension")
      answer(c)
      if c["type"] == "prompt": run("one")
      """, in: folder)
    try await SessionFixture.run(agent: agent, in: folder) { session, events, store in
      let one = prompt("one")
      _ = try await store.accept(stored(one), state: nil)
      _ = await session.enqueue(one)
      #expect(await outcome(of: one.key, events) == "completed")
    }
  }

  @Test func `a run that is stopped before it waits for a slot ends without one`() async throws {
    let folder = try TemporaryFolder()
    let places = AgentSlots(maximum: 1, maximumStarting: 1)
    let taken = try await places.enter(SlotRequest())
    let stop: @Sendable (Session, SessionEvent) -> Void = { session, event in
      if case .runStarted = event { session.assumeIsolated { _ = $0.current.stop() } }
    }
    try await SessionFixture.run(places: places, in: folder, during: stop) { session, events, store in
      let one = prompt("one")
      _ = try await store.accept(stored(one), state: nil)
      _ = await session.enqueue(one)
      #expect(await outcome(of: one.key, events) == "aborted")
    }
    await taken.release()
  }

  @Test func `lines of the daemon's log about a session are found by the beginning of its id`() async throws {
    let folder = try TemporaryFolder()
    let file = folder.path + "/pi-relayd.log"
    let log = DaemonLog(file: LogFile(path: file, limits: .init()), say: { _ in })
    try await SessionFixture.run(id: "2f9ab", in: folder, logger: log.logger) { session, events, store in
      await session.rename("my app")
      let one = prompt("one")
      _ = try await store.accept(stored(one), state: nil)
      _ = await session.enqueue(one)
      _ = await outcome(of: one.key, events)
    }
    await log.flush(within: .seconds(20), clock: ContinuousClock())
    var filter = LogFilter(sessions: ["2f9"])
    let lines = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
      .split(separator: "\n").filter { filter.take($0) }.compactMap { LogLine(parsing: $0) }
    #expect(lines.contains { $0.message.hasPrefix("the agent did not start: ") }, "\(lines)")
    #expect(lines.allSatisfy { $0.terminalText.hasPrefix("session my app: ") }, "\(lines)")
  }

  @Test func `an agent that exits during the look-up is followed by another, which is asked again`() async throws {
    let folder = try TemporaryFolder()
    let agent = try pi(
      "--mode --session-id", before: "mark = os.path.dirname(os.path.abspath(sys.argv[0])) + \"/once\"",
      """
      if c["type"] == "get_entries" and not os.path.exists(mark):
          open(mark, "w").close()
          sys.exit(3)
      answer(c, {"entries": [], "leafId": "e1"} if c["type"] == "get_entries" else {})
      if c["type"] == "prompt": run("one")
      """, in: folder)
    try await SessionFixture.run(agent: agent, in: folder) { session, events, store in
      let stage = MessageStage.dispatching(session: "s", after: .after("e1"))
      var life = MessageLifecycle(restoring: stage, position: .after("e1"), isWithdrawn: false)
      life.take(.foundAfterRestart)
      let one = prompt("one", life)
      _ = try await store.accept(stored(one), state: nil)
      try await store.advance(one.key, StageChange(.dispatching(after: .after("e1"))), in: "s")
      _ = await session.enqueue(one)
      #expect(await outcome(of: one.key, events) == "completed")
    }
  }

  @Test func `a message that was withdrawn too late is not given to the next agent when the last did not take it`()
    async throws
  {
    let folder = try TemporaryFolder()
    // Says that it has the message, and its process, and nothing more.
    let agent = try pi(
      "--mode --session-id", before: "given = os.path.dirname(os.path.abspath(sys.argv[0])) + \"/given\"",
      """
      if c["type"] == "prompt":
          with open(given, "a") as file: file.write(c["message"] + "\\n")
          note = {"type": "extension_ui_request", "id": "n", "method": "notify", "message": str(os.getpid())}
          say(note)
          continue
      answer(c, {"entries": [], "leafId": "e1"} if c["type"] == "get_entries" else {})
      """, in: folder)
    try await SessionFixture.run(agent: agent, in: folder) { session, events, store in
      let one = prompt("one")
      _ = try await store.accept(stored(one), state: nil)
      _ = await session.enqueue(one)
      var process: pid_t?
      while process == nil, let event = await events.next() {
        if case .notice(let text) = event { process = text.split(separator: " ").last.flatMap { pid_t($0) } }
      }
      #expect(try await store.stage(of: one.key) == .dispatching(session: "s", after: .after("e1")))
      #expect(await session.withdraw(one.key) == .tooLate)
      kill(try #require(process), SIGKILL)
      #expect(await outcome(of: one.key, events) == "withdrawn")
      #expect(try await store.stage(of: one.key) == .dropped)
      #expect(try String(contentsOfFile: folder.path + "/given", encoding: .utf8) == "one\n")
    }
  }

  @Test func `a session that compacts is busy while it waits for a slot`() async throws {
    let places = AgentSlots(maximum: 1, maximumStarting: 1)
    let taken = try await places.enter(SlotRequest())
    try await SessionFixture.run(places: places, in: TemporaryFolder()) { session, events, _ in
      async let result = session.compact(nil)
      // The notice says that all agents are busy.
      while let event = await events.next() { if case .notice = event { break } }
      #expect(await session.isBusy)
      #expect(await !session.isIdle)
      #expect(await session.abort() == .compaction)
      #expect(await result != nil)
      #expect(await !session.isBusy)
    }
    await taken.release()
  }
}
