import AgentRuntime
import Bridge
import BridgeProtocol
import FoundationEssentials
import Glibc
import Logging
import PiRPC
import ProcessSupervision
import RelayConcurrency
import RelayLogging
import RelayTransport
import RelayWire
import TestSupport
import Testing

/// The sessions of a test: notes what is asked of them.
private struct RecordingHost: BridgeHost {
  let asked = Locked<[String]>([])
  let admitted = Locked<Set<String>>(["s1"])
  /// A prompt is answered when the test posts here.
  let delivered = Mailbox<Void>()

  let isAgent = Locked(false)

  func admits(_ connection: Int32, to session: String) async -> BridgeAdmission {
    guard admitted.withLock({ $0.contains(session) }) else { return .none }
    return isAgent.withLock { $0 } ? .looking : .acting
  }

  func state(of session: String) async -> BridgedSession? {
    BridgedSession(name: "named", isIdle: true, hasPendingMessages: true)
  }

  func commands(of session: String) async -> [JSONValue] { [.object(["name": .string("skill:x")])] }
  func follow(
    _ session: String, _ publish: @escaping @Sendable (_ event: String, _ data: [UInt8]) -> Void
  ) -> @Sendable () -> Void {
    {}
  }

  func questions(of session: String) async -> [JSONValue] { [.object(["id": .string("que_1")])] }

  func answer(_ question: String, of session: String, _ answers: JSONValue) async throws {
    guard question == "que_1" else { throw BridgeRefusal("there is no open question \(question)") }
    asked.withLock { $0.append("answer \(question)") }
  }

  func reject(_ question: String, of session: String) async throws {
    asked.withLock { $0.append("reject \(question)") }
  }

  func prompt(_ session: String, _ prompt: BridgeRequest.Prompt) async throws -> BridgeDelivery {
    if prompt.content == .text("wait") { _ = await delivered.next() }
    asked.withLock { $0.append("prompt \(prompt.delivery)") }
    return BridgeDelivery(way: .followUp, wasIdle: false)
  }

  func abort(_ session: String) async throws { asked.withLock { $0.append("abort") } }
  func shutDown(_ session: String) async throws { asked.withLock { $0.append("shutdown") } }
}

/// An agent that writes what the test says, and its bridge.
private final class Stage: Sendable {
  let folder: BridgeFolder
  /// The folder of the session's bridge.
  let bridges: String
  let host = RecordingHost()
  let server: BridgeServer
  let agent: PiConnection
  let log = Mailbox<String>()
  private let scratch: TemporaryFolder
  private let work: Task<Void, Never>
  private let reading: Task<Void, Never>
  private let feed: EventPipe

  /// - Parameter own: a folder of the session's own, in the scratch folder.
  init(
    _ change: (inout BridgeLimits) -> Void = { _ in }, clock: any Clock<Duration> = ContinuousClock(),
    own: String? = nil, _ preferences: BridgePreferences? = nil
  ) throws {
    signal(SIGPIPE, SIG_IGN)
    scratch = try TemporaryFolder()
    folder = BridgeFolder(path: scratch.path + "/b")
    var limits = BridgeLimits()
    change(&limits)
    let timeSource = TimeSource(clock: clock)
    server = try BridgeServer(
      folder: folder, limits: limits, heartbeat: .seconds(15), hostName: "here", timeSource: timeSource,
      logger: .lines { [log] in log.post($0) })
    server.serve(host)
    let pipe = scratch.path + "/events"
    #expect(mkfifo(pipe, 0o600) == 0)
    agent = try PiConnection(
      .init(
        name: "pi", path: "/bin/sh", arguments: ["-c", "exec cat \(pipe)"], environment: ["PATH": "/usr/bin:/bin"]),
      guardian: nil, log: LogFile(path: scratch.path + "/log", limits: .init()), wantsToolImages: false, clock: clock,
      text: { _ in })
    feed = try EventPipe(pipe)
    work = Task { [server] in await server.run() }
    reading = Task { [agent] in while await agent.incoming.next() != nil {} }
    var preferences = preferences
    if let own { preferences?.bridgeDir = "\(scratch.path)/\(own)" }
    bridges = preferences?.bridgeDir ?? folder.path
    server.began(agent, of: ObservedSession(id: "s1", name: "first", directory: "/work", bridge: preferences))
  }

  var socket: String { "\(bridges)/pi-\(agent.process.pid).sock" }

  /// The agent writes these lines.
  func write(_ lines: String...) throws { for line in lines { try feed.write(line + "\n") } }

  /// The agent writes so many updates and a `turn_start`. On a thread of its own: the pipe takes them only while others read.
  func burst(_ count: Int) async throws {
    let update =
      #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":""#
      + String(repeating: "x", count: 200) + "\"}}\n"
    let text = String(repeating: update, count: count) + #"{"type":"turn_start"}"# + "\n"
    let feed = feed
    let result: Result<Void, any Error> = await withCheckedContinuation { done in
      LoopThread.start(name: "burst") { done.resume(returning: Result { try feed.write(text) }) }
    }
    try result.get()
  }

  func client(reads: Bool = true) async throws -> TestClient {
    let client = try TestClient(socket, reads: reads)
    if reads { #expect(await client.next()?["type"]?.stringValue == "bridge_hello") }
    return client
  }

  func close() async {
    feed.finish()
    await agent.stop()
    server.ended(agent)
    await server.stop(reason: "the test ends")
    work.cancel()
    await work.value
    await reading.value
  }
}

/// Writes into a pipe with a name, which an agent reads.
private final class EventPipe: Sendable {
  private let state: Locked<Int32>

  init(_ path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError("open", path: path) }
    state = Locked(descriptor)
  }

  deinit { finish() }

  /// The reader reads end of file.
  func finish() {
    state.withLock { descriptor in
      if descriptor >= 0 { _ = close(descriptor) }
      descriptor = -1
    }
  }

  func write(_ text: String) throws {
    let descriptor = state.withLock { $0 }
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { throw SystemError("write") }
      bytes = bytes.dropFirst(count)
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct BridgeServerTests {
  @Test func `a client is greeted with the session's state`() async throws {
    let stage = try Stage()
    let client = try TestClient(stage.socket)
    let hello = try #require(await client.next())
    #expect(hello["type"]?.stringValue == "bridge_hello")
    #expect(hello["protocol"]?.stringValue == "pi-session-bridge.v1")
    #expect(hello["state"]?["sessionId"]?.stringValue == "s1")
    #expect(hello["state"]?["pid"]?.integerValue == Int64(stage.agent.process.pid))
    #expect(hello["state"]?["cwd"]?.stringValue == "/work")
    await stage.close()
  }

  @Test func `a bridge has the settings of the person who runs its session`() async throws {
    var preferences = BridgePreferences()
    preferences.maxLineBytes = 1_024
    preferences.parentSessionId = "p1"
    preferences.childRole = "reviewer"
    let stage = try Stage(own: "mine", preferences)
    let client = try TestClient(stage.socket)
    let state = try #require(await client.next()?["state"])
    #expect(state["parentSessionId"] == "p1" && state["childRole"] == "reviewer")
    #expect(state["bridgeDir"]?.stringValue == stage.bridges && stage.bridges.hasSuffix("/mine"))
    let long = try await client.ask(#"{"id":1,"type":"emit","message":"\#(String(repeating: "x", count: 2_000))"}"#)
    #expect(long?["error"]?.stringValue?.contains("exceeds 1 KiB") == true)
    await stage.close()
    #expect(access(stage.socket, F_OK) != 0)
  }

  @Test func `a session has a heartbeat of its own`() async throws {
    let clock = ManualClock()
    var preferences = BridgePreferences()
    preferences.heartbeatMs = 1
    let stage = try Stage(clock: clock, preferences)
    let file = "\(stage.bridges)/instances/\(stage.agent.process.pid).json"
    await clock.sleepers(2)
    clock.advance(by: .seconds(1))
    try await waitForFiles(in: "\(stage.bridges)/instances") {
      try String(contentsOfFile: file, encoding: .utf8).contains("heartbeat")
    }
    await stage.close()
  }

  @Test func `a process that may not reach the session is told nothing`() async throws {
    let stage = try Stage()
    stage.host.admitted.withLock { $0 = ["another"] }
    let client = try TestClient(stage.socket)
    #expect(await client.next() == nil)
    await stage.close()
  }

  @Test func `requests are answered in their order, under their ids and main names`() async throws {
    let stage = try Stage()
    let client = try await stage.client()
    try client.send(
      """
      {"id":1,"type":"ping"}
      {"id":"a","type":"state"}
      {"id":3,"type":"commands"}
      {"id":4,"type":"question_list"}
      {"id":5,"type":"answer","requestId":"que_1","answers":[["a"]]}
      {"id":6,"type":"reject","request_id":"que_1"}
      {"id":7,"type":"send","message":"hello","deliverAs":"follow-up"}
      {"id":8,"type":"abort"}
      {"id":9,"type":"shutdown"}
      {"id":10,"type":"shutdown","confirm":true}
      {"id":11,"type":"emit","message":"hi"}
      {"id":12,"type":"nonsense"}
      no json
      """)
    var responses: [JSONValue] = []
    for _ in 1...13 { responses.append(try #require(await client.response())) }
    #expect(
      responses.map { $0["command"]?.stringValue ?? "" } == [
        "ping", "get_state", "get_commands", "questions", "answer", "reject", "prompt", "abort", "shutdown", "shutdown",
        "emit", "nonsense", "parse",
      ])
    #expect(
      responses.map { $0["success"]?.boolValue ?? false } == [
        true, true, true, true, true, true, true, true, false, true, true, false, false,
      ])
    #expect(responses[1]["id"]?.stringValue == "a")
    #expect(responses[1]["data"]?["sessionName"]?.stringValue == "named")
    #expect(responses[1]["data"]?["hasPendingMessages"]?.boolValue == true)
    #expect(responses[3]["data"]?["available"]?.boolValue == true)
    #expect(responses[6]["data"]?["deliveredAs"]?.stringValue == "followUp")
    #expect(responses[6]["data"]?["idleBeforeSend"]?.boolValue == false)
    #expect(responses[8]["error"]?.stringValue == "Set confirm:true to shutdown this Pi session")
    #expect(responses[11]["error"]?.stringValue == "Unknown command type: nonsense")
    #expect(
      stage.host.asked.withLock { $0 } == ["answer que_1", "reject que_1", "prompt followUp", "abort", "shutdown"])
    await stage.close()
  }

  @Test func `an agent looks at its own session and does nothing to it`() async throws {
    let stage = try Stage()
    stage.host.isAgent.withLock { $0 = true }
    let client = try await stage.client()
    #expect(try await client.ask(#"{"id":1,"type":"state"}"#)?["success"] == true)
    for request in [
      #""answer","requestId":"que_1","answers":[["a"]]"#, #""reject","requestId":"que_1""#,
      #""prompt","message":"more""#, #""abort""#, #""shutdown","confirm":true"#,
    ] {
      let answer = try await client.ask(#"{"id":1,"type":\#(request)}"#)
      #expect(answer?["error"] == "Error: an agent may only look at its own session")
    }
    #expect(stage.host.asked.withLock { $0 }.isEmpty)
    await stage.close()
  }

  @Test func `a pi that connects again has its bridge, whatever becomes of the earlier one`() async throws {
    let stage = try Stage()
    let session = ObservedSession(id: "s1", name: "second", directory: "/work")
    let again = PiConnection(
      attached: AttachedProcess(pid: stage.agent.process.pid, startTime: 1), input: open("/dev/null", O_WRONLY),
      output: open("/dev/null", O_RDONLY), held: [], log: LogFile(path: stage.folder.path + "/log", limits: .init()),
      wantsToolImages: false, clock: ContinuousClock(), text: { _ in })
    stage.server.began(again, of: session)
    stage.server.ended(stage.agent)
    let client = try TestClient(stage.socket)
    #expect(await client.next()?["state"]?["sessionName"] == "second")
    stage.server.ended(again)
    await stage.close()
  }

  @Test func `a slow request is answered before a quick one that was sent after it`() async throws {
    let stage = try Stage()
    let client = try await stage.client()
    try client.send(#"{"id":1,"type":"prompt","message":"wait"}"#)
    try client.send(#"{"id":2,"type":"ping"}"#)
    stage.host.delivered.post(())
    #expect(await client.response()?["id"]?.integerValue == 1)
    #expect(await client.response()?["id"]?.integerValue == 2)
    await stage.close()
  }

  @Test func `an answer to a question that is settled is refused`() async throws {
    let stage = try Stage()
    let client = try await stage.client()
    let answer = try await client.ask(#"{"id":1,"type":"answer","requestId":"que_9","answers":[]}"#)
    #expect(answer?["success"]?.boolValue == false)
    #expect(answer?["error"]?.stringValue?.contains("que_9") == true)
    await stage.close()
  }

  @Test func `events are sent as summaries, in their order`() async throws {
    let stage = try Stage()
    let client = try await stage.client()
    let text = String(repeating: "x", count: 1_000)
    try stage.write(
      #"{"type":"agent_start"}"#,
      #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"hel"}}"#,
      #"{"type":"tool_execution_end","toolCallId":"t","toolName":"bash","result":{"content":[{"type":"text","text":"\#(text)"}]},"isError":false}"#
    )
    #expect(await client.event("agent_start") == .object(["type": .string("agent_start")]))
    #expect(await client.event("message_update")?["deltaPreview"]?.stringValue == "hel")
    let end = try #require(await client.event("tool_execution_end"))
    #expect(end["toolUseId"]?.stringValue == "t")
    #expect(end["resultBytes"]?.integerValue == 1_039)
    #expect(end["resultPreview"]?.stringValue?.count == 256)
    await stage.close()
  }

  @Test func `a client that wants no events gets answers only`() async throws {
    let stage = try Stage()
    let client = try await stage.client()
    #expect(try await client.ask(#"{"id":1,"type":"subscribe","enabled":false}"#)?["success"]?.boolValue == true)
    #expect(try await client.ask(#"{"id":2,"type":"emit"}"#)?["id"]?.integerValue == 2)
    try client.send(#"{"id":3,"type":"ping"}"#)
    #expect(await client.next()?["id"]?.integerValue == 3)
    await stage.close()
  }

  @Test func `history has the events of before, as summaries or whole`() async throws {
    let stage = try Stage()
    let text = String(repeating: "y", count: 600)
    let first = try await stage.client()
    try stage.write(
      #"{"type":"agent_start"}"#,
      #"{"type":"tool_execution_end","toolCallId":"t","toolName":"bash","result":{"content":[{"type":"text","text":"\#(text)"}]},"isError":false}"#
    )
    _ = await first.event("tool_execution_end")
    first.close()
    let client = try await stage.client()
    let compact = try #require(
      try await client.ask(#"{"id":1,"type":"history","event":"tool_execution_end"}"#)?["data"])
    #expect(compact["totalEvents"]?.integerValue == 1)
    #expect(compact["responseTruncated"]?.boolValue == false)
    let event = try #require(compact["events"]?.arrayValue?.first)
    #expect(event["truncated"]?.boolValue == true)
    #expect(event["data"]?["resultBytes"]?.integerValue == 639)
    #expect(event["rawEventPath"]?.stringValue == compact["rawSpillPath"]?.stringValue)
    let whole = try await client.ask(#"{"id":2,"type":"history","limit":1,"raw":true}"#)?["data"]?["events"]?.arrayValue
    let content = whole?.first?["data"]?["result"]?["content"]?.arrayValue
    #expect(content?.first?["text"]?.stringValue == text)
    #expect(whole?.first?["rawRestored"]?.boolValue == true)
    await stage.close()
  }

  @Test func `the end of a long run tells the answer although its line is dropped while it arrives`() async throws {
    let stage = try Stage()
    let client = try await stage.client()
    let long = String(repeating: "z", count: 1_000_000)
    let answer = #"{"role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop"}"#
    try stage.write(
      #"{"type":"agent_start"}"#, #"{"type":"message_end","message":{"role":"user","content":"do"}}"#,
      #"{"type":"message_end","message":\#(answer)}"#,
      #"{"type":"agent_end","messages":[{"role":"user","content":"\#(long)"},\#(answer)]}"#)
    let end = try #require(await client.event("agent_end"))
    #expect(end["finalTextPreview"]?.stringValue == "done")
    #expect(end["messagesCount"]?.integerValue == 2)
    #expect(end["stopReason"]?.stringValue == "stop")
    let kept = try await client.ask(#"{"id":1,"type":"history","event":"agent_end"}"#)?["data"]?["events"]?.arrayValue
    #expect(kept?.first?["data"] == end)
    await stage.close()
  }

  @Test func `a line over the limit is refused, and the connection is kept`() async throws {
    let stage = try Stage { $0.maxLineBytes = 1_024 }
    let client = try await stage.client()
    let small = #"{"id":1,"type":"ping"}"#
    // Many small requests at once are no long line.
    try client.send(Array(repeating: small, count: 100).joined(separator: "\n"))
    for _ in 1...100 { #expect(await client.response()?["success"]?.boolValue == true) }
    try client.send(#"{"id":2,"type":"emit","message":"\#(String(repeating: "m", count: 2_000))"}"#)
    let refusal = try #require(await client.response())
    #expect(refusal["success"]?.boolValue == false)
    #expect(refusal["error"]?.stringValue?.hasPrefix("Input line exceeds 1 KiB") == true)
    #expect(try await client.ask(small)?["success"]?.boolValue == true)
    await stage.close()
  }

  @Test func `requests that wait take no more memory than they may, and all are answered`() async throws {
    let stage = try Stage()
    let client = try await stage.client()
    try client.send(#"{"id":0,"type":"prompt","message":"wait"}"#)
    let text = String(repeating: "m", count: 500_000)
    for number in 1...40 { try client.send(#"{"id":\#(number),"type":"emit","message":"\#(text)"}"#) }
    stage.host.delivered.post(())
    for number in 0...40 { #expect(await client.response()?["id"]?.integerValue == Int64(number)) }
    await stage.close()
  }

  @Test func `a client that does not read is disconnected, and costs the others nothing`() async throws {
    let stage = try Stage { $0.maxUnsentBytes = 64 * 1024 }
    let stalled = try await stage.client(reads: false)
    let reader = try await stage.client()
    let text = String(repeating: "x", count: 200)
    // More than the socket's own buffer takes; the reader is waited for, so that it never lags.
    for number in 1...40 {
      let update =
        #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"\#(text)"}}"#
      try stage.write(Array(repeating: update, count: 100).joined(separator: "\n"))
      try stage.write(#"{"type":"turn_start","number":\#(number)}"#)
      #expect(await reader.event("turn_start")?["number"]?.integerValue == Int64(number))
    }
    try stage.write(#"{"type":"agent_end","messages":[]}"#)
    #expect(await reader.event("agent_end") != nil)
    var isTold = false
    while !isTold, let line = await stage.log.next() { isTold = line.contains("bridge-client-stalled=") }
    #expect(isTold)
    stalled.close()
    await stage.close()
  }

  @Test func `a client that reads late gets every event of a burst`() async throws {
    // Time stands still: the bridge waits for as long as it takes.
    let stage = try Stage({ $0.maxUnsentBytes = 2 << 20 }, clock: ManualClock())
    let other = try await stage.client()
    let client = try await stage.client(reads: false)
    // Its request shows that the client is connected.
    try client.send(#"{"id":1,"type":"emit","message":"here"}"#)
    #expect(await other.event("bridge_emit") != nil)
    // With its envelopes several times as much as may be unsent.
    try await stage.burst(10_000)
    try client.startReading()
    var updates = 0
    while let line = await client.next(), line["event"]?.stringValue != "turn_start" {
      if line["event"]?.stringValue == "message_update" { updates += 1 }
    }
    #expect(updates == 10_000)
    #expect(await other.event("turn_start") != nil)
    await stage.close()
  }

  @Test func `events wait only a moment for a client that reads nothing`() async throws {
    let stage = try Stage()
    let stalled = try await stage.client(reads: false)
    let reader = try await stage.client()
    _ = try await reader.ask(#"{"id":1,"type":"ping"}"#)
    // More than is tolerated without a wait, and less than a client is disconnected for.
    try await stage.burst(6_000)
    #expect(await reader.event("turn_start") != nil)
    stalled.close()
    await stage.close()
  }

  @Test func `the registry file tells where the bridge is and whether the agent is idle`() async throws {
    let stage = try Stage()
    let client = try await stage.client()
    let file = "\(stage.folder.path)/instances/\(stage.agent.process.pid).json"
    func registry() throws -> JSONValue {
      try JSONCoding.decode(JSONValue.self, from: [UInt8](Data(contentsOf: URL(filePath: file))))
    }
    try stage.write(#"{"type":"agent_start"}"#)
    _ = await client.event("agent_start")
    // The file is written before the bridge takes the next errand.
    _ = try await client.ask(#"{"id":1,"type":"emit"}"#)
    #expect(try registry()["isIdle"]?.boolValue == false)
    #expect(try registry()["socketPath"]?.stringValue == stage.socket)
    #expect(try registry()["processStartTime"]?.integerValue == Int64(stage.agent.process.startTime))
    await stage.close()
    #expect(access(file, F_OK) != 0)
    #expect(access(stage.socket, F_OK) != 0)
  }

  @Test func `clients are told of the end, behind the last events`() async throws {
    let stage = try Stage()
    let client = try await stage.client()
    try stage.write(#"{"type":"agent_start"}"#)
    _ = await client.event("agent_start")
    stage.server.ended(stage.agent)
    let stop = try #require(await client.next())
    #expect(stop["type"]?.stringValue == "bridge_stop")
    #expect(stop["reason"]?.stringValue == "the agent has ended")
    #expect(await client.next() == nil)
    await stage.close()
  }
}
