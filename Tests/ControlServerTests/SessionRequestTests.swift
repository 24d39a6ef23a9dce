import Glibc
import RelayConcurrency
import RelayJSON
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import ControlServer

/// Requests of programs about sessions.
@Suite(.timeLimit(.minutes(1))) struct SessionRequestTests {
  /// Lines as a program of any language writes and reads them.
  private final class RawClient: Sendable {
    let lines = Lines()
    let ended = Mailbox<Void>()
    private let outbox: Outbox

    init(_ stage: ControlStage) throws {
      let descriptor = try stage.socket()
      outbox = Outbox(descriptor: fcntl(descriptor, F_DUPFD_CLOEXEC, 3), limit: 64 << 20)
      let reader = LineReader(
        descriptor: descriptor, maximumLineLength: 32 << 20,
        handlers: .init(
          line: { [lines] in if case .line(let bytes) = $0 { lines.add(String(decoding: bytes, as: UTF8.self)) } },
          end: { [ended] in ended.close() }))
      try reader.start()
    }

    func send(_ text: String) throws { try outbox.send(Array(text.utf8)) }
    func close() { outbox.abandon() }
  }

  @Test func `each request about a session reaches it and is answered`() async throws {
    try await ControlStage.running { stage in
      let client = try stage.connect()
      defer { client.close() }
      #expect(try await client.request(SessionListRequest(), within: nil).sessions.map(\.id) == ["s1", "s2"])
      #expect(try await client.request(SessionStatusRequest(session: "s2"), within: nil).name == "name of s2")
      let receipt = try await client.request(
        ProgramPrompt(session: "s1", text: "do it", delivery: .followUp, id: "7"), within: nil)
      #expect(receipt == PromptReceipt(message: "7", stage: "received"))
      _ = try await client.request(SessionSteerRequest(session: "s1", text: "left"), within: nil)
      #expect(try await client.request(SessionAbortRequest(session: "s1"), within: nil).stopped == "run")
      let questions = try await client.request(SessionQuestionsRequest(session: "s1"), within: nil).questions
      #expect(questions.map(\.id) == ["q"])
      _ = try await client.request(SessionAnswerRequest(session: "s1", question: "q", answer: "1"), within: nil)
      _ = try await client.request(SessionAnswerRequest(session: "s1"), within: nil)
      #expect(try await client.request(SessionRenameRequest(session: "s1", name: "x"), within: nil).name == "x-2")
      _ = try await client.request(SessionModelRequest(session: "s1", model: "m"), within: nil)
      _ = try await client.request(SessionCompactRequest(session: "s1", instructions: "names"), within: nil)
      _ = try await client.request(SessionCloseRequest(session: "s1"), within: nil)
      _ = try await client.request(SessionCreateRequest(directory: "/d", name: "n", task: "t"), within: nil)
      #expect(
        stage.sessions.asked.withLock { $0 } == [
          "prompt s1 do it followUp 7", "prompt s1 left steer nil", "abort s1", "answer s1 q 1", "answer s1 nil nil",
          "rename s1 x", "model s1 m", "compact s1 names", "close s1", "create /d n nil t",
        ])
      await #expect { _ = try await client.request(SessionStatusRequest(session: "s9"), within: nil) } throws: {
        "\($0)".contains("there is no session s9")
      }
    }
  }

  @Test func `a process of an agent is told of its own session and acts on none`() async throws {
    try await ControlStage.running { stage in
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      let client = try stage.connect()
      defer { client.close() }
      #expect(try await client.request(SessionListRequest(), within: nil).sessions.map(\.id) == ["s1"])
      #expect(try await client.request(SessionStatusRequest(session: "name of s1"), within: nil).id == "s1")
      #expect(try await client.request(SessionSubscribeRequest(session: "s1"), within: nil).session.id == "s1")
      // The answer does not tell whether there is such a session.
      for other in ["s2", "s9"] {
        await #expect {
          _ = try await client.request(SessionQuestionsRequest(session: other), within: nil)
        } throws: {
          "\($0)" == "session: this process belongs to the session name of s1 (s1), and may ask about no other"
        }
      }
      await #expect {
        _ = try await client.request(ProgramPrompt(session: "s1", text: "more"), within: nil)
      } throws: {
        "\($0)".contains("this process belongs to the session s1") && "\($0)".contains("run session.prompt outside")
      }
      await #expect(throws: ConnectionError.self) {
        _ = try await client.request(SessionAnswerRequest(session: "s1", answer: "yes"), within: nil)
      }
      await #expect(throws: ConnectionError.self) { _ = try await client.request(ControlStatus(), within: nil) }
      #expect(stage.sessions.asked.withLock { $0 }.isEmpty)
      #expect(try await client.request(SessionStatusRequest(session: "s1"), within: nil).id == "s1")
    }
  }

  @Test func `where the configuration says so a process of an agent drives others, and answers no question`()
    async throws
  {
    try await ControlStage.running(agentsReachOthers: true) { stage in
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      let client = try stage.connect()
      defer { client.close() }
      #expect(try await client.request(SessionListRequest(), within: nil).sessions.map(\.id) == ["s1", "s2"])
      _ = try await client.request(ProgramPrompt(session: "s2", text: "more"), within: nil)
      _ = try await client.request(SessionAbortRequest(session: "s2"), within: nil)
      await #expect(throws: ConnectionError.self) {
        _ = try await client.request(SessionAnswerRequest(session: "s2", answer: "yes"), within: nil)
      }
      await #expect(throws: ConnectionError.self) { _ = try await client.request(ControlStatus(), within: nil) }
      #expect(stage.sessions.asked.withLock { $0 } == ["prompt s2 more nil nil", "abort s2"])
    }
  }

  @Test func `many requests sent at once are answered in their order`() async throws {
    try await ControlStage.running { stage in
      let client = try RawClient(stage)
      defer { client.close() }
      let requests = (1...60).map {
        #"{"jsonrpc":"2.0","id":\#($0),"method":"session.prompt","params":{"session":"s1","text":"\#($0)"}}"# + "\n"
      }
      try client.send(requests.joined())
      await client.lines.wait { $0.count == 60 }
      for (number, line) in client.lines.all.enumerated() { #expect(line.contains(#""id":\#(number + 1),"#)) }
      #expect(stage.sessions.asked.withLock { $0 } == (1...60).map { "prompt s1 \($0) nil nil" })
    }
  }

  @Test func `a line that is too long is refused and the connection goes on`() async throws {
    try await ControlStage.running { stage in
      let client = try RawClient(stage)
      defer { client.close() }
      func prompt(_ id: Int, _ length: Int) -> String {
        let text = String(repeating: "x", count: length)
        return #"{"jsonrpc":"2.0","id":\#(id),"method":"session.prompt","params":{"session":"s1","text":"\#(text)"}}"#
          + "\n"
      }
      try client.send(prompt(1, ControlClient.maximumLineLength - 100))
      try client.send(prompt(2, ControlClient.maximumLineLength))
      // Beyond what any connection takes: not even the id is known.
      try client.send(prompt(3, ProtocolLimits.maximumLineLength))
      try client.send("that is no JSON\n" + prompt(4, 1))
      await client.lines.wait { $0.count == 5 }
      // An error without an id is sent when its line has been read.
      let answers = client.lines.all
      #expect(answers.contains { $0.contains(#""id":1,"result""#) })
      #expect(answers.contains { $0.contains(#""id":2,"error""#) && $0.contains("at most 1 MiB are taken") })
      #expect(answers.contains { $0.contains(#""id":null,"error""#) && $0.contains("is too long") })
      #expect(answers.contains { $0.contains(#""id":null,"error""#) && $0.contains("no JSON-RPC message") })
      #expect(answers.contains { $0.contains(#""id":4,"result""#) }, "\(answers.map { $0.prefix(200) })")
      #expect(stage.sessions.asked.withLock(\.count) == 2)
    }
  }

  private func report(_ number: Int, _ length: Int = 1) -> SessionReport {
    SessionReport(
      session: "s1", event: "text", time: Double(number),
      data: .object(["text": .string(String(repeating: "x", count: length))]))
  }

  @Test func `a subscriber is told the events of the session until it unsubscribes`() async throws {
    try await ControlStage.running { stage in
      let events = Mailbox<SessionReport>()
      let client = try stage.connect { method, line in
        guard method == ControlNotification.sessionEvent,
          let params = try? JSONCoding.decode(JSONValue.self, from: line)["params"],
          let report = try? JSONCoding.decode(SessionReport.self, from: JSONCoding.encode(params))
        else { return }
        events.post(report)
      }
      defer { client.close() }
      let began = try await client.request(SessionSubscribeRequest(session: "name of s1"), within: nil)
      #expect(began.session.id == "s1" && began.questions.map(\.title) == ["Sure?"])
      let feed = try #require(await stage.sessions.feeds.next())
      feed.reports.post(report(1))
      #expect(await events.next() == report(1))
      // Once is enough.
      _ = try await client.request(SessionSubscribeRequest(session: "s1"), within: nil)
      feed.reports.post(report(2))
      #expect(await events.next() == report(2))
      _ = try await client.request(SessionUnsubscribeRequest(session: "s1"), within: nil)
      #expect(feed.reports.post(report(3)) == false)
    }
  }

  @Test func `the events of a client that has left are no longer gathered`() async throws {
    try await ControlStage.running { stage in
      let client = try stage.connect()
      _ = try await client.request(SessionSubscribeRequest(session: "s1"), within: nil)
      let feed = try #require(await stage.sessions.feeds.next())
      client.close()
      while feed.reports.post(report(1)) { await Task.yield() }
    }
  }

  @Test func `a subscriber that does not read is disconnected, and others are served meanwhile`() async throws {
    try await ControlStage.running { stage in
      let stalled = try stage.socket()
      let request =
        #"{"jsonrpc":"2.0","id":1,"method":"session.subscribe","params":{"session":"s1"}}"# + "\n"
      _ = request.withCString { write(stalled, $0, strlen($0)) }
      let feed = try #require(await stage.sessions.feeds.next())
      let other = try stage.connect()
      defer { other.close() }
      var sent = 0
      let large = report(1, 256 << 10)
      while feed.reports.post(large) {
        sent += 1
        #expect(try await other.request(SessionStatusRequest(session: "s2"), within: nil).id == "s2")
      }
      #expect(sent > 8 << 20 / (256 << 10) && sent < 200, "\(sent)")
      #expect(await stage.log.next()?.contains("more than 8 MiB were left unread") == true)
      // The lines that were sent before can still be read, with the reason at their end.
      let lines = Lines()
      let ended = Mailbox<Void>()
      let reader = LineReader(
        descriptor: stalled, maximumLineLength: 1 << 20,
        handlers: .init(
          line: { if case .line(let bytes) = $0 { lines.add(String(decoding: bytes.prefix(300), as: UTF8.self)) } },
          end: { ended.close() }))
      try reader.start()
      await lines.wait { $0.last?.contains(#""method":"control.closing""#) == true }
      #expect(lines.all.last?.contains("left unread") == true)
      await stage.clock.sleepers(1)
      stage.clock.advance(by: ControlClient.closingLimit)
      _ = await ended.next()
    }
  }

  @Test func `a disconnected client that reads nothing keeps its connection for a short time only`() async throws {
    try await ControlStage.running { stage in
      let stalled = try stage.socket()
      defer { close(stalled) }
      let request = #"{"jsonrpc":"2.0","id":1,"method":"session.subscribe","params":{"session":"s1"}}"# + "\n"
      _ = request.withCString { write(stalled, $0, strlen($0)) }
      let feed = try #require(await stage.sessions.feeds.next())
      let other = try stage.connect()
      defer { other.close() }
      let large = report(1, 256 << 10)
      while feed.reports.post(large) { _ = try await other.request(SessionListRequest(), within: nil) }
      await stage.clock.sleepers(1)
      stage.clock.advance(by: ControlClient.closingLimit)
      // A peer that is gone is told to whoever writes.
      signal(SIGPIPE, SIG_IGN)
      while write(stalled, "\n", 1) == 1 { await Task.yield() }
      #expect(errno == EPIPE || errno == ECONNRESET)
    }
  }
}
