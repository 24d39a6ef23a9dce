import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayHome
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
      approvals: String = "", _ body: (RelayFixture, Pi) async throws -> Void
    ) async throws {
      let node = try #require(node)
      try await RelayFixture.run(
        config: RelayFixture.defaultConfig + "\n" + approvals, capabilities: FakeMessenger.withButtons
      ) { relay in
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
        case .turn: "hold on"
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
