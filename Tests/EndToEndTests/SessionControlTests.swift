import CLinux
import ControlServer
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayHome
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import RelayStore

extension EndToEnd.Sessions {
  /// Sessions that programs drive over the control socket.
  @Suite struct SessionControlTests {
    /// A program that is told the events of a session.
    private final class Subscriber: Sendable {
      let events = Lines()
      let connection: JSONRPCConnection

      init(_ relay: RelayFixture) throws {
        let descriptor = relay_connect_unix(relay.home.socket)
        guard descriptor >= 0 else { throw SystemError("connect", code: -descriptor) }
        connection = JSONRPCConnection(
          input: descriptor, output: fcntl(descriptor, F_DUPFD_CLOEXEC, 3),
          notified: { [events] method, line in
            guard method == ControlNotification.sessionEvent else { return }
            events.add(String(decoding: line, as: UTF8.self))
          })
        try connection.start()
      }

      /// The events so far, each as its kind.
      var kinds: [String] {
        events.all.compactMap { line in
          try? JSONCoding.decode(JSONValue.self, from: Array(line.utf8))["params"]?["event"]?.stringValue
        }
      }

      func wait(for text: String) async { await events.wait { $0.contains { $0.contains(text) } } }
    }

    /// A session that has been given "hello" by a person.
    private func talk(_ relay: RelayFixture) async throws -> SessionStatus {
      try await relay.messenger.say("hello", id: "1")
      #expect(await relay.messenger.waitForOutcome(of: "1") == .answered)
      return try #require(try await relay.ask(SessionListRequest()).sessions.first)
    }

    private func key(_ id: String, of session: SessionStatus) -> MessageKey {
      MessageKey(
        conversation: ConversationKey(instance: ConversationKey.programs, conversation: session.id),
        id: MessageOrigin.program(id).id)
    }

    private func waitForStage(
      _ stage: MessageStage, of id: String, in session: SessionStatus, _ relay: RelayFixture
    ) async throws {
      try await relay.waitForStore { try await $0.stage(of: key(id, of: session)) == stage }
    }

    private func count(_ text: String, _ relay: RelayFixture) async -> Int {
      await relay.messenger.texts().count { $0.contains(text) }
    }

    @Test func `a prompt is stored, answered, and shown where the session is watched`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        let program = try Subscriber(relay)
        defer { program.connection.close() }
        let began = try await program.connection.request(SessionSubscribeRequest(session: session.name), within: nil)
        #expect(began.session.id == session.id)
        let receipt = try await program.connection.request(
          ProgramPrompt(session: session.name, text: "from a program", id: "p1"), within: nil)
        #expect(receipt == PromptReceipt(message: "p1", stage: "received"))
        await relay.messenger.waitForText("You wrote: from a program")
        #expect(await relay.messenger.texts(role: .echo) == ["▶ USER: from a program"])
        await program.wait(for: "run.ended")
        let kinds = program.kinds
        #expect(kinds.first == "run.started" && kinds.last == "run.ended", "\(kinds)")
        #expect(kinds.contains("text") && kinds.contains("message.ended"), "\(kinds)")
        #expect(program.events.all.last?.contains(#""outcome":"answered""#) == true)
        #expect(program.events.all.last?.contains(#""message":"p1""#) == true)
        try await waitForStage(.settled, of: "p1", in: session, relay)
        // Nobody waits to be told.
        try await relay.waitForStore { try await $0.untoldEnds(of: ConversationKey.programs).isEmpty }
        #expect(try await relay.status().problems.allSatisfy { $0.contains("fake.socket") })
      }
    }

    @Test func `a repeated id is the same message`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        let prompt = ProgramPrompt(session: session.id, text: "only once", id: "p1")
        #expect(try await relay.ask(prompt).repeated == nil)
        await relay.messenger.waitForText("You wrote: only once")
        try await waitForStage(.settled, of: "p1", in: session, relay)
        let again = PromptReceipt(message: "p1", stage: "settled", repeated: true)
        #expect(try await relay.ask(prompt) == again)
        try await relay.killAndStart()
        #expect(try await relay.ask(prompt) == again)
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "the next"))
        await relay.messenger.waitForText("You wrote: the next")
        #expect(await count("You wrote: only once", relay) == 1)
      }
    }

    @Test(arguments: RelayFixture.Break.allCases)
    func `a message that waits runs once whatever becomes of the daemon`(_ change: RelayFixture.Break) async throws {
      try await RelayFixture.run(config: "shutdown: {drainSeconds: 0}\n" + RelayFixture.defaultConfig) { relay in
        let session = try await talk(relay)
        try await relay.messenger.say("/slow 40", id: "2")
        await relay.messenger.wait { $0.messages.contains { $0.isGrowing } }
        let receipt = try await relay.ask(
          ProgramPrompt(session: session.id, text: "much later", delivery: .followUp, id: "p1"))
        #expect(receipt == PromptReceipt(message: "p1", stage: "received", behind: 1))
        try await relay.goThrough(change)
        await relay.messenger.waitForText("You wrote: much later")
        try await waitForStage(.settled, of: "p1", in: session, relay)
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "the end"))
        await relay.messenger.waitForText("You wrote: the end")
        #expect(await count("You wrote: much later", relay) == 1)
      }
    }

    @Test func `a run that a crash interrupts is reported to those who watch, and not run again`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "/slow 4000", id: "p1"))
        await relay.messenger.wait { $0.messages.contains { $0.isGrowing } }
        try await waitForStage(.accepted(session: session.id), of: "p1", in: session, relay)
        try await relay.killAndStart()
        await relay.messenger.waitForText("pi-relayd was restarted while the agent worked on \"/slow 4000\".")
        try await waitForStage(.interrupted, of: "p1", in: session, relay)
        try await relay.waitForStore { try await $0.untoldEnds(of: ConversationKey.programs).isEmpty }
        try await relay.killAndStart()
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "the next"))
        await relay.messenger.waitForText("You wrote: the next")
        #expect(await count("pi-relayd was restarted while", relay) == 1)
      }
    }

    @Test func `an upgrade continues the run of a program's message`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "/slow 40", id: "p1"))
        await relay.messenger.wait { $0.messages.contains { $0.isGrowing } }
        try await relay.goThrough(.upgrade)
        try await waitForStage(.settled, of: "p1", in: session, relay)
        #expect(await count("pi-relayd was restarted while", relay) == 0)
      }
    }

    @Test func `a message goes into the run in progress where it is asked to`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        try await relay.messenger.say("/slow 40", id: "2")
        await relay.messenger.wait { $0.messages.contains { $0.isGrowing } }
        let receipt = try await relay.ask(SessionSteerRequest(session: session.id, text: "to the left", id: "p1"))
        #expect(receipt.steered == true)
        await relay.messenger.waitForText("to the left")
        try await waitForStage(.settled, of: "p1", in: session, relay)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      }
    }

    @Test func `images reach the agent, and their files last as long as the message`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        let pixel =
          "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        let prompt = ProgramPrompt(
          session: session.id, text: "look", images: [.init(data: pixel, mime: "image/png")], id: "p1")
        _ = try await relay.ask(prompt)
        await relay.messenger.waitForText("1 image")
        try await waitForStage(.settled, of: "p1", in: session, relay)
        let folder = relay.home.spool(ConversationKey.programs) + "/\(session.id)/program:p1"
        while access(folder, F_OK) == 0 { try await Task.sleep(for: .milliseconds(5)) }
        await #expect(throws: ConnectionError.self) {
          _ = try await relay.ask(
            ProgramPrompt(session: session.id, text: "x", images: [.init(data: "no base64!", mime: "image/png")]))
        }
      }
    }

    @Test func `a program answers the agent's question, and everybody is told`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        let program = try Subscriber(relay)
        defer { program.connection.close() }
        _ = try await program.connection.request(SessionSubscribeRequest(session: session.id), within: nil)
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "/confirm"))
        await program.wait(for: "question.opened")
        let open = try await relay.ask(SessionQuestionsRequest(session: session.id)).questions
        #expect(open.map(\.kind) == ["confirm"])
        await #expect {
          _ = try await relay.ask(SessionAnswerRequest(session: session.id, question: open.first?.id, answer: "maybe"))
        } throws: { "\($0)".contains("yes-or-no") }
        let reply = try await relay.ask(
          SessionAnswerRequest(session: session.id, question: open.first?.id, answer: "y"))
        #expect(reply.answer == "yes")
        await relay.messenger.waitForText("— yes (a program)")
        await program.wait(for: "question.settled")
        await #expect {
          _ = try await relay.ask(SessionAnswerRequest(session: session.id, question: open.first?.id, answer: "y"))
        } throws: { "\($0)".contains("there is no open question") }
      }
    }

    @Test func `a program begins, renames, stops and closes a session`() async throws {
      try await RelayFixture.run(sessions: "roots: [/]") { relay in
        let made = try await relay.ask(
          SessionCreateRequest(directory: relay.scratch.path, name: "new", task: "/slow 4000"))
        #expect(made.name == "new" && made.directory == relay.scratch.path)
        let program = try Subscriber(relay)
        defer { program.connection.close() }
        _ = try await program.connection.request(SessionSubscribeRequest(session: "new"), within: nil)
        await program.wait(for: #""event":"text""#)
        #expect(try await relay.ask(SessionAbortRequest(session: "new")).stopped == "run")
        await program.wait(for: #""outcome":"stopped""#)
        #expect(try await relay.ask(SessionRenameRequest(session: "new", name: "renamed")).name == "renamed")
        _ = try await relay.ask(SessionCompactRequest(session: made.id))
        await program.wait(for: #""kind":"compaction""#)
        _ = try await relay.ask(SessionModelRequest(session: made.id, model: "other"))
        #expect(try await relay.ask(SessionStatusRequest(session: made.id)).model == "other")
        _ = try await relay.ask(SessionCloseRequest(session: "renam"))
        await program.wait(for: #""event":"closed""#)
        #expect(try await relay.ask(SessionListRequest()).sessions.isEmpty)
        await #expect {
          _ = try await relay.ask(SessionCreateRequest(directory: "/no/such"))
        } throws: { "\($0)".contains("sessions.roots") }
      }
    }

    @Test func `a name that may be several sessions lists them`() async throws {
      try await RelayFixture.run { relay in
        for name in ["twin-a", "twin-b"] { _ = try await relay.ask(SessionCreateRequest(name: name)) }
        await #expect {
          _ = try await relay.ask(SessionStatusRequest(session: "twin"))
        } throws: { "\($0)".contains("may be any of twin-a (") && "\($0)".contains("twin-b (") }
        await #expect {
          _ = try await relay.ask(SessionStatusRequest(session: "nobody"))
        } throws: { "\($0)".contains("there is no session nobody") }
      }
    }

    @Test func `a process of an agent is told of its own session only, and commands nothing`() async throws {
      let relayd = Built.executable("pi-relayd")
      let filter = """
        export PI_RELAY_HOME="$HOME/home"
        # An agent that is only asked for its models has no session.
        rm -f "$HOME/left" "$HOME/done"
        \(relayd) sessions --json > "$HOME/list" 2>&1 < /dev/null
        \(relayd) send other hello > "$HOME/send" 2>&1 < /dev/null
        \(relayd) send mine hello > "$HOME/own" 2>&1 < /dev/null
        \(relayd) stop > "$HOME/stop" 2>&1 < /dev/null
        # Its parent has ended when it begins, and it descends from no agent any more.
        (sh -c 'until [ -e "$HOME/left" ]; do sleep 0.01; done
          \(relayd) sessions --json > "$HOME/far" 2>&1 < /dev/null; : > "$HOME/done"' &)
        : > "$HOME/left"
        until [ -e "$HOME/done" ]; do sleep 0.01; done
        exec cat
        """
      try await RelayFixture.run(agentFilter: "sh \"$HOME/filter\"") { relay in
        try relay.scratch.write("filter", filter)
        _ = try await relay.ask(SessionCreateRequest(name: "other"))
        try await relay.messenger.say("/new mine", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        try await relay.messenger.say("hello", id: "2")
        await relay.messenger.waitForText("You wrote: hello")
        func output(_ name: String) -> String { relay.scratch.read(name) }
        for list in ["list", "far"] {
          #expect(output(list).contains(#""name":"mine""#) && !output(list).contains("other"), "\(output(list))")
        }
        #expect(output("send").contains("run session.prompt outside of the agent"), "\(output("send"))")
        #expect(output("own").contains("run session.prompt outside of the agent"), "\(output("own"))")
        #expect(output("stop").contains("run control.stop outside of the agent"), "\(output("stop"))")
        #expect(await count("You wrote: hello", relay) == 1)
      }
    }

    @Test func `the command line sends, watches, answers and stops`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        let began = Mailbox<Void>()
        async let watched = relay.converse("watch", session.name) { _, _ in began.post(()) }
        _ = await began.next()
        let short = String(session.id.prefix(8))
        let sent = try await relay.command("send", short, "--follow-up", "--id", "p1", "/select")
        #expect(sent.output == ["The session has the message p1."], "\(sent.errors)")
        await relay.messenger.wait { !$0.questions.isEmpty }
        #expect(try await relay.command("answer", short).output.contains("  2. Green"))
        #expect(try await relay.command("answer", short, "2").output == ["Answered: Green"])
        try await waitForStage(.settled, of: "p1", in: session, relay)
        let again = try await relay.command("send", short, "--id", "p1", "--json", "/select")
        #expect(again.output == [#"{"message":"p1","repeated":true,"stage":"settled"}"#])
        #expect(try await relay.command("abort", short).output == ["There is nothing to stop."])
        #expect(try await relay.command("sessions").output.first?.contains(session.id) == true)
        let unknown = try await relay.command("send", "nobody", "x")
        #expect(unknown.exit == .exited(1) && unknown.errors.first?.contains("there is no session nobody") == true)
        _ = try await relay.ask(SessionCloseRequest(session: session.id))
        let seen = try await watched
        #expect(seen.exit == .exited(0) && seen.output.first == "\(session.name) is idle", "\(seen.errors)")
        #expect(seen.output.contains("▶ /select") && seen.output.contains("✔ Green (a program)"), "\(seen.output)")
        #expect(seen.output.contains { $0.contains("You answered: Green") }, "\(seen.output)")
        #expect(seen.output.suffix(2) == ["⏹ answered", "The session is closed."], "\(seen.output)")
      }
    }

    @Test func `the command line prints events as JSON, and says that the daemon is gone`() async throws {
      try await RelayFixture.run { relay in
        let session = try await talk(relay)
        let first = Mailbox<String>()
        async let watched = relay.converse("watch", session.id, "--json") { line, _ in first.post(line) }
        // It is told nothing of the time before it watches.
        let isSeen = Locked(false)
        async let renamed: Void = {
          while !isSeen.withLock({ $0 }) {
            _ = try await relay.ask(SessionRenameRequest(session: session.id, name: "x"))
          }
        }()
        let line = try #require(await first.next())
        isSeen.withLock { $0 = true }
        let event = try JSONCoding.decode(JSONValue.self, from: Array(line.utf8))
        #expect(event["event"] == "changed" && event["session"]?.stringValue == session.id, "\(line)")
        try await renamed
        #expect(await relay.stop() == .exited(0))
        let seen = try await watched
        #expect(seen.exit == .exited(1))
        #expect(seen.errors == ["pi-relayd: the daemon has ended the connection"])
      }
    }
  }
}
