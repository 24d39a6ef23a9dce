import AgentRuntime
import Bridge
import BridgeProtocol
import FoundationEssentials
import Glibc
import PiRPC
import ProcessSupervision
import RelayConcurrency
import RelayJSON
import RelayLogging
import RelayWire
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct BridgeServerTests {
  @Test func `a client is greeted with the session's state`() async throws {
    let stage = try BridgeStage()
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
    let stage = try BridgeStage(own: "mine", preferences)
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
    let stage = try BridgeStage(clock: clock, preferences)
    let file = "\(stage.bridges)/instances/\(stage.agent.process.pid).json"
    await clock.sleepers(2)
    clock.advance(by: .seconds(1))
    try await waitForFiles(in: "\(stage.bridges)/instances") {
      try String(contentsOfFile: file, encoding: .utf8).contains("heartbeat")
    }
    await stage.close()
  }

  @Test func `a process that may not reach the session is told nothing`() async throws {
    let stage = try BridgeStage()
    stage.host.admitted.withLock { $0 = ["another"] }
    let client = try TestClient(stage.socket)
    #expect(await client.next() == nil)
    await stage.close()
  }

  @Test func `requests are answered in their order, under their ids and main names`() async throws {
    let stage = try BridgeStage()
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
    let stage = try BridgeStage()
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
    let stage = try BridgeStage()
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
    let stage = try BridgeStage()
    let client = try await stage.client()
    try client.send(#"{"id":1,"type":"prompt","message":"wait"}"#)
    try client.send(#"{"id":2,"type":"ping"}"#)
    stage.host.delivered.post(())
    #expect(await client.response()?["id"]?.integerValue == 1)
    #expect(await client.response()?["id"]?.integerValue == 2)
    await stage.close()
  }

  @Test func `an answer to a question that is settled is refused`() async throws {
    let stage = try BridgeStage()
    let client = try await stage.client()
    let answer = try await client.ask(#"{"id":1,"type":"answer","requestId":"que_9","answers":[]}"#)
    #expect(answer?["success"]?.boolValue == false)
    #expect(answer?["error"]?.stringValue?.contains("que_9") == true)
    await stage.close()
  }

  @Test func `a line over the limit is refused, and the connection is kept`() async throws {
    let stage = try BridgeStage { $0.maxLineBytes = 1_024 }
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
    let stage = try BridgeStage()
    let client = try await stage.client()
    try client.send(#"{"id":0,"type":"prompt","message":"wait"}"#)
    let text = String(repeating: "m", count: 500_000)
    for number in 1...40 { try client.send(#"{"id":\#(number),"type":"emit","message":"\#(text)"}"#) }
    stage.host.delivered.post(())
    for number in 0...40 { #expect(await client.response()?["id"]?.integerValue == Int64(number)) }
    await stage.close()
  }

  @Test func `a run that nobody here began makes the session busy, as its state or its events tell`() async throws {
    let stage = try BridgeStage()
    stage.host.delivery.withLock { $0 = BridgeDelivery(way: .now, wasIdle: true) }
    let client = try await stage.client()
    func isIdle() async throws -> Bool? {
      // Behind the events: they are published before the next request is taken.
      try await client.ask(#"{"id":1,"type":"state"}"#)?["data"]?["isIdle"]?.boolValue
    }
    #expect(try await isIdle() == true)
    stage.server.told(try Self.state(#"{"isStreaming":true}"#), by: stage.agent)
    #expect(try await isIdle() == false)
    let sent = try await client.ask(#"{"id":2,"type":"prompt","message":"next"}"#)?["data"]
    #expect(sent?["deliveredAs"] == "followUp" && sent?["idleBeforeSend"] == false)
    try stage.write(#"{"type":"agent_end","messages":[]}"#)
    _ = await client.event("agent_end")
    #expect(try await isIdle() == true)
    // Older than the events.
    stage.server.told(try Self.state(#"{"isStreaming":true}"#), by: stage.agent)
    #expect(try await isIdle() == true)
    try stage.write(#"{"type":"agent_start"}"#)
    _ = await client.event("agent_start")
    #expect(try await isIdle() == false)
    await stage.close()
  }

  private static func state(_ text: String) throws -> PiState {
    try JSONCoding.decode(PiState.self, from: Array(text.utf8))
  }

  @Test func `the registry file tells where the bridge is and whether the agent is idle`() async throws {
    let stage = try BridgeStage()
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
}
