import ControlServer
import Glibc
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
    @Test func `a prompt is stored, answered, and shown where the session is watched`() async throws {
      try await RelayFixture.run { relay in
        let session = try await relay.talk()
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
        try await relay.waitForStage(.settled, of: "p1", in: session)
        // Nobody waits to be told.
        try await relay.waitForStore { try await $0.untoldEnds(of: ConversationKey.programs).isEmpty }
        #expect(try await relay.status().problems.allSatisfy { $0.contains("fake.socket") })
      }
    }

    @Test func `a repeated id is the same message`() async throws {
      try await RelayFixture.run { relay in
        let session = try await relay.talk()
        let prompt = ProgramPrompt(session: session.id, text: "only once", id: "p1")
        #expect(try await relay.ask(prompt).repeated == nil)
        await relay.messenger.waitForText("You wrote: only once")
        try await relay.waitForStage(.settled, of: "p1", in: session)
        let again = PromptReceipt(message: "p1", stage: "settled", repeated: true)
        #expect(try await relay.ask(prompt) == again)
        try await relay.killAndStart()
        #expect(try await relay.ask(prompt) == again)
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "the next"))
        await relay.messenger.waitForText("You wrote: the next")
        #expect(await relay.count("You wrote: only once") == 1)
      }
    }

    @Test(arguments: RelayFixture.Break.allCases)
    func `a message that waits runs once whatever becomes of the daemon`(_ change: RelayFixture.Break) async throws {
      try await RelayFixture.run(config: "shutdown: {drainSeconds: 0}\n" + RelayFixture.defaultConfig) { relay in
        let session = try await relay.talk()
        try await relay.messenger.say("/slow 40", id: "2")
        await relay.messenger.wait { $0.messages.contains { $0.isGrowing } }
        let receipt = try await relay.ask(
          ProgramPrompt(session: session.id, text: "much later", delivery: .followUp, id: "p1"))
        #expect(receipt == PromptReceipt(message: "p1", stage: "received", behind: 1))
        try await relay.goThrough(change)
        await relay.messenger.waitForText("You wrote: much later")
        try await relay.waitForStage(.settled, of: "p1", in: session)
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "the end"))
        await relay.messenger.waitForText("You wrote: the end")
        #expect(await relay.count("You wrote: much later") == 1)
      }
    }

    @Test func `a run that a crash interrupts is reported to those who watch, and not run again`() async throws {
      try await RelayFixture.run { relay in
        let session = try await relay.talk()
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "/slow 4000", id: "p1"))
        await relay.messenger.wait { $0.messages.contains { $0.isGrowing } }
        try await relay.waitForStage(.accepted(session: session.id), of: "p1", in: session)
        try await relay.killAndStart()
        await relay.messenger.waitForText("pi-relayd was restarted while the agent worked on \"/slow 4000\".")
        try await relay.waitForStage(.interrupted, of: "p1", in: session)
        try await relay.waitForStore { try await $0.untoldEnds(of: ConversationKey.programs).isEmpty }
        try await relay.killAndStart()
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "the next"))
        await relay.messenger.waitForText("You wrote: the next")
        #expect(await relay.count("pi-relayd was restarted while") == 1)
      }
    }

    @Test func `an upgrade continues the run of a program's message`() async throws {
      try await RelayFixture.run { relay in
        let session = try await relay.talk()
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "/slow 40", id: "p1"))
        await relay.messenger.wait { $0.messages.contains { $0.isGrowing } }
        try await relay.goThrough(.upgrade)
        try await relay.waitForStage(.settled, of: "p1", in: session)
        #expect(await relay.count("pi-relayd was restarted while") == 0)
      }
    }

    @Test func `a message goes into the run in progress where it is asked to`() async throws {
      try await RelayFixture.run { relay in
        let session = try await relay.talk()
        try await relay.messenger.say("/slow 40", id: "2")
        await relay.messenger.wait { $0.messages.contains { $0.isGrowing } }
        let receipt = try await relay.ask(SessionSteerRequest(session: session.id, text: "to the left", id: "p1"))
        #expect(receipt.steered == true)
        await relay.messenger.waitForText("to the left")
        try await relay.waitForStage(.settled, of: "p1", in: session)
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
      }
    }

    @Test func `images reach the agent, and their files last as long as the message`() async throws {
      try await RelayFixture.run { relay in
        let session = try await relay.talk()
        let pixel =
          "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        let prompt = ProgramPrompt(
          session: session.id, text: "look", images: [.init(data: pixel, mime: "image/png")], id: "p1")
        _ = try await relay.ask(prompt)
        await relay.messenger.waitForText("1 image")
        try await relay.waitForStage(.settled, of: "p1", in: session)
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
        let session = try await relay.talk()
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
  }
}
