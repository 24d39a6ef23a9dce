import CLinux
import ControlServer
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayHome
import RelayJSON
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Sessions {
  /// Programs of other languages, of an agent, and the command line, at the control socket.
  @Suite struct ControlProgramTests {
    /// Lines as a program of any language writes and reads them.
    private final class RawProgram: Sendable {
      let answers = Lines()
      private let outbox: Outbox
      private let reader: LineReader

      /// - Parameter reads: false for a program that reads nothing.
      init(_ relay: RelayFixture, reads: Bool = true) throws {
        let descriptor = relay_connect_unix(relay.home.socket)
        guard descriptor >= 0 else { throw SystemError("connect", code: -descriptor) }
        outbox = Outbox(descriptor: fcntl(descriptor, F_DUPFD_CLOEXEC, 3), limit: 64 << 20)
        reader = LineReader(
          descriptor: descriptor, maximumLineLength: 4 << 20,
          handlers: .init(line: { [answers] line in
            if case .line(let bytes) = line { answers.add(String(decoding: bytes, as: UTF8.self)) }
          }))
        if reads { try reader.start() }
      }

      /// - Returns: false once the daemon has closed the connection.
      func send(_ text: String) -> Bool { (try? outbox.send(Array(text.utf8))) != nil }

      func close() {
        outbox.abandon()
        reader.close()
      }
    }

    private func line(_ id: Int, _ session: SessionStatus, _ text: String) -> String {
      #"{"jsonrpc":"2.0","id":\#(id),"method":"session.prompt","params":{"session":"\#(session.id)","#
        + #""delivery":"followUp","text":"\#(text)"}}"# + "\n"
    }

    @Test func `requests sent at once are carried out in order, and one that is too long stops no other`() async throws
    {
      try await RelayFixture.run(sessions: "maximumQueued: 100") { relay in
        let session = try await relay.talk()
        let program = try RawProgram(relay)
        defer { program.close() }
        let numbers = Array(2...31)
        let lines = numbers.map { number in
          line(number, session, number == 20 ? String(repeating: "x", count: 1 << 20) : "number \(number).")
        }
        #expect(program.send(lines.joined()))
        await program.answers.wait { $0.count == numbers.count }
        for (number, answer) in zip(numbers, program.answers.all) {
          #expect(answer.contains(#""id":\#(number),"\#(number == 20 ? "error" : "result")""#), "\(answer)")
        }
        #expect(program.answers.all[18].contains("at most 1 MiB are taken"))
        await relay.messenger.waitForText("You wrote: number 31.")
        #expect(
          await relay.messenger.texts(role: .echo) == numbers.filter { $0 != 20 }.map { "▶ USER: number \($0)." })
      }
    }

    @Test func `a program that reads nothing is disconnected with a reason in the log, and others are served`()
      async throws
    {
      try await RelayFixture.run { relay in
        let session = try await relay.talk()
        let stalled = try RawProgram(relay, reads: false)
        defer { stalled.close() }
        let request =
          #"{"jsonrpc":"2.0","id":1,"method":"session.status","params":{"session":"\#(session.id)"}}"# + "\n"
        let many = String(repeating: request, count: 500)
        while stalled.send(many) {
          #expect(try await relay.ask(SessionStatusRequest(session: session.id)).id == session.id)
        }
        try await relay.waitForLog("a control connection is closed: more than 8 MiB were left unread")
        try await relay.messenger.say("still there?", id: "2")
        #expect(await relay.messenger.waitForOutcome(of: "2") == .answered)
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
        #expect(await relay.count("You wrote: hello") == 1)
      }
    }

    @Test func `the command line sends, watches, answers and stops`() async throws {
      try await RelayFixture.run { relay in
        let session = try await relay.talk()
        let began = Mailbox<Void>()
        async let watched = relay.converse("watch", session.name) { _, _ in began.post(()) }
        _ = await began.next()
        let short = String(session.id.prefix(8))
        let sent = try await relay.command("send", short, "--follow-up", "--id", "p1", "/select")
        #expect(sent.output == ["The session has the message p1."], "\(sent.errors)")
        await relay.messenger.wait { !$0.questions.isEmpty }
        #expect(try await relay.command("answer", short).output.contains("  2. Green"))
        #expect(try await relay.command("answer", short, "2").output == ["Answered: Green"])
        try await relay.waitForStage(.settled, of: "p1", in: session)
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
        let session = try await relay.talk()
        let first = Mailbox<String>()
        async let watched = relay.converse("watch", session.id, "--json", "--reconnect-timeout", "0") { line, _ in
          first.post(line)
        }
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
        #expect(seen.errors.last == "pi-relayd: the daemon has ended the connection, and has not come back")
      }
    }

    /// Watches the session, and tells each line of standard output to `lines`.
    private func watch(_ session: String, _ relay: RelayFixture, _ lines: Lines, _ more: String...) async throws
      -> Command
    {
      try await relay.converse(["watch", session] + more) { line, _ in lines.add(line) }
    }

    @Test(arguments: RelayFixture.Break.allCases)
    func `a watch goes on with the next daemon, and repeats nothing`(_ change: RelayFixture.Break) async throws {
      try await RelayFixture.run(config: "shutdown: {drainSeconds: 0}\n" + RelayFixture.defaultConfig) { relay in
        let session = try await relay.talk()
        let lines = Lines()
        async let watched = watch(session.name, relay, lines)
        await lines.wait { $0.contains("\(session.name) is idle") }
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "/select", id: "p1"))
        await lines.wait { $0.contains("  2. Green") }
        // It is the same session under each name.
        _ = try await relay.ask(SessionRenameRequest(session: session.id, name: "renamed"))
        try await relay.goThrough(change)
        let resumed = "renamed is \(change == .upgrade ? "working" : "asleep")"
        await lines.wait { $0.contains(resumed) }
        if change == .upgrade {
          _ = try await relay.ask(SessionAnswerRequest(session: session.id, answer: "2"))
          await lines.wait { $0.contains("⏹ answered") }
        } else {
          // Told by the daemon that stops, otherwise found out afterwards.
          await lines.wait { $0.contains { $0.hasPrefix("✖ ") } }
        }
        _ = try await relay.ask(ProgramPrompt(session: session.id, text: "the next", id: "p2"))
        await lines.wait { $0.contains { $0.hasPrefix("You wrote: the next") } && $0.last == "⏹ answered" }
        _ = try await relay.ask(SessionCloseRequest(session: session.id))
        let seen = try await watched
        #expect(seen.exit == .exited(0) && seen.errors == ["pi-relayd has stopped or is restarting…"])
        for once in ["▶ /select", "  2. Green", "▶ the next"] {
          #expect(seen.output.count { $0 == once } == 1, "\(seen.output)")
        }
        let over = seen.output.count { $0.hasPrefix("✖ ") }
        let isFoundOut = seen.output.contains { $0.hasPrefix("✖ Which colour? (") && $0.hasSuffix("no longer open") }
        #expect(over == (change == .upgrade ? 0 : 1) && isFoundOut == (change == .kill), "\(seen.output)")
        #expect(seen.output.contains("✔ Green (a program)") == (change == .upgrade), "\(seen.output)")
      }
    }

    @Test func `a watch as JSON says where events may be missing`() async throws {
      try await RelayFixture.run { relay in
        let session = try await relay.talk()
        let lines = Lines()
        async let watched = watch(session.id, relay, lines, "--json")
        try await relay.messenger.say("/slow 60", id: "2")
        await lines.wait { $0.contains { $0.contains(#""event":"text""#) } }
        try await relay.goThrough(.upgrade)
        await lines.wait { $0.contains { $0.contains(#""event":"run.ended""#) } }
        _ = try await relay.ask(SessionCloseRequest(session: session.id))
        #expect(try await watched.exit == .exited(0))
        let events = try lines.all.map { try JSONCoding.decode(JSONValue.self, from: Array($0.utf8)) }
        let kinds = events.compactMap { $0["event"]?.stringValue }
        #expect(kinds.count { $0 == "watch.resumed" } == 1 && kinds.count { $0 == "run.ended" } == 1, "\(kinds)")
        let resumed = try #require(events.first { $0["event"] == "watch.resumed" })
        #expect(resumed["data"]?["session"]?["activity"] == "working", "\(resumed)")
        let gap = try #require(kinds.firstIndex(of: "watch.resumed"))
        #expect(kinds[gap...].contains("text"), "\(kinds)")
      }
    }
  }
}
