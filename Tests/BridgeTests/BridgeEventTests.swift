import Bridge
import BridgeProtocol
import RelayConcurrency
import RelayJSON
import RelayWire
import TestSupport
import Testing

/// Events that clients of a bridge read as they come, and those of before.
@Suite(.timeLimit(.minutes(1))) struct BridgeEventTests {
  @Test func `events are sent as summaries, in their order`() async throws {
    let stage = try BridgeStage()
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
    let stage = try BridgeStage()
    let client = try await stage.client()
    #expect(try await client.ask(#"{"id":1,"type":"subscribe","enabled":false}"#)?["success"]?.boolValue == true)
    #expect(try await client.ask(#"{"id":2,"type":"emit"}"#)?["id"]?.integerValue == 2)
    try client.send(#"{"id":3,"type":"ping"}"#)
    #expect(await client.next()?["id"]?.integerValue == 3)
    await stage.close()
  }

  @Test func `history has the events of before, as summaries or whole`() async throws {
    let stage = try BridgeStage()
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
    let stage = try BridgeStage()
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

  @Test func `a client that does not read is disconnected, and costs the others nothing`() async throws {
    let stage = try BridgeStage { $0.maxUnsentBytes = 64 * 1024 }
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
    let stage = try BridgeStage({ $0.maxUnsentBytes = 2 << 20 }, clock: ManualClock())
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
    let stage = try BridgeStage()
    let stalled = try await stage.client(reads: false)
    let reader = try await stage.client()
    _ = try await reader.ask(#"{"id":1,"type":"ping"}"#)
    // More than is tolerated without a wait, and less than a client is disconnected for.
    try await stage.burst(6_000)
    #expect(await reader.event("turn_start") != nil)
    stalled.close()
    await stage.close()
  }

  @Test func `clients are told of the end, behind the last events`() async throws {
    let stage = try BridgeStage()
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
