import ControlServer
import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayHome
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

private let sources = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }

/// Node 20 or later: the system's, or the one that the tests of the extension have installed.
private let node: String? = ["/usr/bin/node", "/usr/local/bin/node", sources + "/.build/node/bin/node"]
  .first { access($0, X_OK) == 0 }

extension EndToEnd.Sessions {
  /// The extension itself, in Node, in a pi that the test plays, with the whole daemon.
  @Suite(.enabled(if: node != nil, "there is no Node 20 or later")) struct ExtensionTests {
    /// pi in a terminal.
    private final class Pi: Sendable {
      let lines = Lines()
      private let child: ChildProcess
      private let outbox: Outbox

      init(_ relay: RelayFixture, session: String = "t1", node: String) throws {
        let (child, pipes) = try ChildProcess.spawn(
          .init(
            name: "pi", path: node, arguments: [sources + "/Tests/Extension/support/played-pi.js"],
            environment: [
              "PATH": "/usr/bin:/bin", "HOME": relay.scratch.path, "PI_RELAY_SOCKET": relay.home.socket,
              "PLAYED_DIRECTORY": relay.scratch.path, "PLAYED_SESSION": session,
            ]), guardian: nil)
        self.child = child
        outbox = Outbox(descriptor: pipes.input, limit: 1 << 20)
        for descriptor in [pipes.output, pipes.error] {
          let reader = LineReader(
            descriptor: descriptor, maximumLineLength: 1 << 20,
            handlers: .init(line: { [lines] framed in
              if case .line(let bytes) = framed { lines.add(String(decoding: bytes, as: UTF8.self)) }
            }))
          try reader.start()
        }
      }

      func tell(_ line: String) throws { try outbox.send(Array((line + "\n").utf8)) }

      func wait(for text: String) async { await lines.wait { $0.contains { $0.contains(text) } } }

      func kill() async {
        child.signal(SIGKILL)
        _ = await child.exit()
      }
    }

    /// Runs `body` with a pi that has joined and that the conversation has chosen.
    private func run(
      approvals: String = "", capabilities: Capabilities = FakeMessenger.withButtons,
      _ body: (RelayFixture, Pi) async throws -> Void
    ) async throws {
      let node = try #require(node)
      try await RelayFixture.run(config: RelayFixture.defaultConfig + "\n" + approvals, capabilities: capabilities) {
        relay in
        let pi = try Pi(relay, node: node)
        do {
          try pi.tell("start")
          await pi.wait(for: #"{"status":"relay: "#)
          let name = relay.scratch.path.split(separator: "/").last.map(String.init) ?? ""
          try await relay.messenger.say("/use \(name)", id: "use")
          _ = await relay.messenger.waitForOutcome(of: "use")
          try await body(relay, pi)
        } catch {
          await pi.kill()
          throw error
        }
        await pi.kill()
      }
    }

    @Test func `a message of a chat is answered by pi in the terminal`() async throws {
      try await run { relay, _ in
        try await relay.messenger.say("from the phone", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("You wrote: from the phone")
        #expect(await relay.messenger.texts(role: .echo).isEmpty)
      }
    }

    @Test func `a session that the model begins has a thread, and in a direct message its name`() async throws {
      var capabilities = FakeMessenger.withButtons
      capabilities.threads = true
      try await run(capabilities: capabilities) { relay, _ in
        let name = relay.scratch.path.split(separator: "/").last.map(String.init) ?? ""
        try await relay.messenger.say("/use \(name)", id: "channel", in: "c9", kind: .channel)
        _ = await relay.messenger.waitForOutcome(of: "channel")
        try await relay.messenger.say("spawn docs", id: "1", in: "c9", kind: .channel)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.wait {
          $0.messages.contains { $0.conversation.hasPrefix("thread-") && $0.text.contains("You wrote: hello docs") }
        }
        #expect(await relay.messenger.threadTitles == ["docs"])
        try await relay.messenger.say("spawn tests", id: "2")
        await relay.messenger.waitForText("The agent has begun the session tests. /use tests talks to it.")
        #expect(await relay.messenger.threadTitles == ["docs"])
      }
    }

    @Test func `a second terminal with the same session waits until the first is closed`() async throws {
      try await run { relay, pi in
        let second = try Pi(relay, node: try #require(node))
        try second.tell("start")
        await second.wait(for: "in another terminal")
        try await relay.messenger.say("to the first", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await pi.wait(for: #"{"message":"to the first"}"#)
        await pi.kill()
        try await relay.messenger.say("to the second", id: "2")
        await second.wait(for: #"{"message":"to the second"}"#)
        await second.kill()
      }
    }

    @Test func `a program that has left the tree of pi's processes does not command the daemon`() async throws {
      try await run { relay, pi in
        // Its shell may be there still when it begins.
        let wait = #"while [ "$(cat /proc/$(cut -d" " -f4 /proc/$$/stat)/comm)" = sh ]; do :; done"#
        let stop = "PI_RELAY_HOME='\(relay.home.path)' '\(Built.executable("pi-relayd"))' stop"
        try pi.tell("shell (sh -c '\(wait); \(stop.replacing("'", with: "\""))' &)")
        await pi.wait(for: "an agent may not command the daemon")
      }
    }

    @Test func `words typed in the terminal are shown in the chat, with their answer`() async throws {
      try await run { relay, pi in
        try pi.tell("type at the desk")
        await relay.messenger.waitForText("▶ USER: at the desk")
        await relay.messenger.waitForText("In the terminal: at the desk")
      }
    }

    @Test func `the model sends a text to the person who asked for the turn`() async throws {
      try await run { relay, pi in
        try await relay.messenger.say("send half of it is done", id: "1")
        await relay.messenger.waitForText("half of it is done")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    private static let rules = """
      approvals: {enabled: true, timeoutSeconds: 30, rules: [{id: push, categories: [git-remote]}]}
      """

    /// The buttons of the question that waits.
    private func question(_ relay: RelayFixture) async -> [Button] {
      await relay.messenger.wait { $0.questions.last?.buttons != nil }
      return await relay.messenger.questions.last?.buttons?.flatMap { $0 } ?? []
    }

    private func answer(_ label: String, _ relay: RelayFixture) async throws {
      let buttons = await question(relay)
      let button = try #require(buttons.first { $0.label.contains(label) }, "\(buttons)")
      try await relay.messenger.press(button.id, id: "press \(label)")
    }

    @Test func `a call that a rule matches is made when the person approves it, and not when it is denied`()
      async throws
    {
      try await run(approvals: Self.rules) { relay, pi in
        try await relay.messenger.say("call git push", id: "1")
        try await answer("Approve", relay)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await pi.wait(for: #""verdict":"allowed""#)
        try await relay.messenger.say("call git push --force", id: "2")
        try await answer("Deny", relay)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
        await pi.wait(for: #""block":true"#)
      }
    }

    @Test func `a run that is stopped in the terminal takes its approval back`() async throws {
      try await run(approvals: Self.rules) { relay, pi in
        try await relay.messenger.say("hold git push", id: "1")
        _ = await question(relay)
        try pi.tell("abort")
        await relay.messenger.waitForText("denied: the agent no longer waits")
        await pi.wait(for: "the run was stopped")
        try pi.tell("go on")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      }
    }

    @Test func `a question of the model is answered in the chat, and the terminal is told`() async throws {
      try await run { relay, pi in
        try await relay.messenger.say("ask which colour?", id: "1")
        try await answer("blue", relay)
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("The model heard: blue")
        await pi.wait(for: #"{"notice":"Answered in a chat: blue"}"#)
      }
    }

    @Test func `an answer in the terminal takes the question out of the chat`() async throws {
      try await run { relay, pi in
        try await relay.messenger.say("ask which colour?", id: "1")
        _ = await question(relay)
        try pi.tell("choose red")
        await relay.messenger.waitForText("withdrawn: answered in the terminal: red")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("The model heard: red")
        #expect(await relay.messenger.questions.isEmpty)
      }
    }

    @Test func `the terminal's disconnect takes the session away from its chats`() async throws {
      try await run(approvals: Self.rules) { relay, pi in
        try await relay.messenger.say("hold git push", id: "1")
        _ = await question(relay)
        try await relay.messenger.say("later", id: "2")
        await relay.messenger.waitForText("Queued")
        try pi.tell("relay disconnect")
        await pi.wait(for: "It was taken away from 1 chat.")
        await relay.messenger.waitForText("was disconnected in its terminal. Your next message starts another.")
        // The call is denied, and the message that waited is not run when the terminal is connected again.
        await pi.wait(for: #""block":true"#)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .stopped)
        try await relay.messenger.say("anybody here?", id: "3")
        #expect(await relay.messenger.waitForOutcome(of: "3") == .answered)
        try pi.tell("relay sessions")
        await pi.wait(for: #"{"notice":"pi-relay: disconnected with /relay disconnect"}"#)
        try pi.tell("relay connect")
        await pi.wait(for: "connected to")
        try pi.tell("relay disconnect")
        await pi.wait(for: "No chat followed it.")
      }
    }

    @Test func `chats hear at once that pi has ended, and lists show it`() async throws {
      try await run { relay, pi in
        try pi.tell("quit")
        await relay.messenger.waitForText("pi in the terminal has ended")
        try await relay.messenger.say("/sessions", id: "1")
        await relay.messenger.waitForText("— ended in its terminal")
        #expect(try await relay.status().sessions.map(\.terminal) == [.ended])
      }
    }

    @Test func `the terminal lists the sessions that everybody sees`() async throws {
      let conversations = "      conversations: {c9: {use: assistant}}"
      try await run(approvals: conversations) { relay, pi in
        try await relay.messenger.say("private words", id: "1", in: "c9")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        try await relay.messenger.say("/new", id: "2", in: "c2")
        _ = await relay.messenger.waitForOutcome(of: "2")
        #expect(try await relay.status().sessions.count == 3)
        try pi.tell("relay sessions")
        await pi.wait(for: #"{"notice":"Sessions (2):\n1. "#)
        await pi.wait(for: "← here")
      }
    }

    @Test func `the terminal's doctor tells the findings of the daemon`() async throws {
      try await run(approvals: Self.rules) { _, pi in
        try pi.tell("relay doctor")
        await pi.wait(for: "✔ approvals: on, with 1 rule(s)")
        await pi.wait(for: "✔ plugin fake/default: running")
      }
    }

    @Test func `a file of the terminal reaches the chats that follow, and no file outside of its folder`() async throws
    {
      var capabilities = FakeMessenger.withButtons
      capabilities.maximumFileBytes = 1000
      try await run(capabilities: capabilities) { relay, pi in
        _ = try relay.scratch.write("plan.md", "# Plan")
        try pi.tell("relay send-file plan.md our plan")
        await pi.wait(for: #"{"notice":"Sent plan.md to 1 chat."}"#)
        await relay.messenger.waitForText("our plan[plan.md, 6 bytes]")
        try pi.tell("relay send-file ../../etc/passwd")
        await pi.wait(for: #"{"notice":"pi-relay: "#)
        try await relay.messenger.say("/disconnect", id: "1")
        await relay.messenger.waitForText("You no longer talk to")
        try pi.tell("relay send-file plan.md")
        await pi.wait(for: "no chat follows this session")
      }
    }

    @Test func `a call that no rule matches waits for nobody`() async throws {
      try await run(approvals: Self.rules) { relay, pi in
        try await relay.messenger.say("call ls", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await pi.wait(for: #""verdict":"allowed""#)
      }
    }

    @Test func `a call of a turn that was typed in the terminal waits for nobody`() async throws {
      try await run(approvals: Self.rules) { relay, pi in
        try pi.tell("type call git push")
        await pi.wait(for: #""verdict":"allowed""#)
      }
    }

    @Test func `a kill of the daemon while a call waits approves nothing`() async throws {
      try await run(approvals: Self.rules) { relay, pi in
        try await relay.messenger.say("call git push", id: "1")
        _ = await question(relay)
        try await relay.killAndStart()
        await pi.wait(for: #""block":true"#)
        #expect(!pi.lines.all.contains { $0.contains(#""verdict":"allowed""#) })
      }
    }

    /// A moment of a turn at which a process is killed.
    enum Moment: CaseIterable, Sendable {
      case turn, dialog, approval

      var message: String {
        switch self {
        case .turn: "answer on"
        case .dialog: "ask which colour?"
        case .approval: "call git push"
        }
      }
    }

    /// Has the conversation begin a turn, and waits for the moment.
    private func reach(_ moment: Moment, _ relay: RelayFixture) async throws -> [Button] {
      try await relay.messenger.say(moment.message, id: "1")
      guard moment == .turn else { return await question(relay) }
      await relay.messenger.waitForText("Begun: on.")
      return []
    }

    /// Waits until what was asked is withdrawn, and presses its buttons.
    private func press(_ buttons: [Button], _ relay: RelayFixture) async throws {
      if !buttons.isEmpty { await relay.messenger.waitForText("✖ ") }
      for (number, button) in buttons.enumerated() {
        try await relay.messenger.press(button.id, id: "late \(number)")
      }
    }

    /// Says one more thing, and checks what was told of the first message, and that no call was made.
    private func expect(
      _ end: String, of moment: Moment, _ relay: RelayFixture, _ terminals: Pi...
    ) async throws {
      try await relay.messenger.say("still there?", id: "2")
      #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      let texts = await relay.messenger.texts()
      #expect(texts.count { $0.hasPrefix("❌ \(end)") && $0.contains("it is not run again by itself") } == 1, "\(texts)")
      #expect(texts.count { $0.hasPrefix("❌") } == 1, "\(texts)")
      #expect(texts.count { $0.hasPrefix("✖") } == (moment == .turn ? 0 : 1), "\(texts)")
      #expect(texts.count { $0 == "You wrote: still there?" } == 1, "\(texts)")
      let lines = terminals.flatMap(\.lines.all)
      #expect(lines.count { $0 == #"{"message":"\#(moment.message)"}"# } == 1, "\(lines)")
      #expect(!lines.contains { $0.contains(#""verdict":"allowed""#) }, "\(lines)")
      #expect(await relay.messenger.questions.isEmpty)
    }

    @Test(arguments: Moment.allCases)
    func `a kill of pi is told once and approves nothing, and the next pi goes on`(_ moment: Moment) async throws {
      try await run(approvals: Self.rules) { relay, pi in
        let buttons = try await reach(moment, relay)
        await pi.kill()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        let next = try Pi(relay, node: try #require(node))
        do {
          try next.tell("start")
          await next.wait(for: #"{"status":"relay: "#)
          try await press(buttons, relay)
          try await expect("The agent ended unexpectedly", of: moment, relay, pi, next)
          #expect(!next.lines.all.contains { $0.contains("verdict") })
        } catch {
          await next.kill()
          throw error
        }
        await next.kill()
      }
    }

    @Test(arguments: Moment.allCases)
    func `a kill of the daemon is told once and approves nothing, and pi goes on`(_ moment: Moment) async throws {
      try await run(approvals: Self.rules) { relay, pi in
        let buttons = try await reach(moment, relay)
        try await relay.killAndStart()
        #expect(await relay.messenger.waitForOutcome(of: "1") == .failed)
        try await press(buttons, relay)
        switch moment {
        case .turn:
          try pi.tell("release")
          await relay.messenger.waitForText("Begun: on. Ended.")
        case .dialog:
          // Asked again: pi still waits.
          try await answer("blue", relay)
          await relay.messenger.waitForText("The model heard: blue")
        case .approval: await pi.wait(for: #""block":true"#)
        }
        try await expect("pi-relayd was restarted while the agent worked", of: moment, relay, pi)
      }
    }

    @Test func `pi joins the next daemon by itself`() async throws {
      try await run { relay, pi in
        try await relay.killAndStart()
        try await relay.messenger.say("after the crash", id: "1")
        #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
        await relay.messenger.waitForText("You wrote: after the crash")
      }
    }
  }
}
