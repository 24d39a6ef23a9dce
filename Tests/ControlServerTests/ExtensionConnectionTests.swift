import AgentExtension
import Glibc
import RelayConcurrency
import RelayJSON
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import ControlServer

/// Connections of the extension that agents run with.
@Suite(.timeLimit(.minutes(1))) struct ExtensionConnectionTests {
  @Test func `after it is attached a connection speaks another protocol`() async throws {
    try await ControlStage.running { stage in
      let pi = try await TerminalPi(stage.socketPath, session: "t1", name: "shop", directory: "/work")
      #expect(pi.greeting["session"]?["id"] == "t1")
      try pi.write(#"{"type":"agent_start"}"#)
      #expect(await pi.next("agent_start") != nil)
      #expect(stage.extensions.asked.withLock { $0 } == ["attach t1 \(getpid())"])
      pi.close()
    }
  }

  @Test func `a session that is taken is refused in words`() async throws {
    try await ControlStage.running { stage in
      let refusal = await #expect(throws: WireError.self) {
        try await TerminalPi(stage.socketPath, session: "taken", name: "shop", directory: "/work")
      }
      #expect(refusal?.message == "session: it is taken")
    }
  }

  @Test func `a pi within an agent is not attached, and one that turns to another session is`() async throws {
    try await ControlStage.running { stage in
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      let refusal = await #expect(throws: WireError.self) {
        try await TerminalPi(stage.socketPath, session: "t1", name: "shop", directory: "/work")
      }
      #expect(refusal?.message.contains("within an agent") == true)
      stage.extensions.attachedProcesses.withLock { $0 = [getpid()] }
      let pi = try await TerminalPi(stage.socketPath, session: "t2", name: "shop", directory: "/work")
      #expect(pi.greeting["session"]?["id"] == "t2")
      pi.close()
    }
  }

  @Test func `an agent's extension is answered for its own session`() async throws {
    try await ControlStage.running { stage in
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      let agent = try stage.connect()
      #expect(try await agent.request(ExtensionHello(session: "s1"), within: nil).session.id == "s1")
      await #expect(throws: ConnectionError.self) {
        try await agent.request(ExtensionHello(session: "s2"), within: nil)
      }
      _ = try await agent.request(ExtensionSend(text: "hi"), within: nil)
      #expect(try await agent.request(ExtensionSendFile(path: "a.txt"), within: nil).name == "a.txt")
      #expect(try await agent.request(ExtensionSpawn(task: "do"), within: nil).session.id == "new")
      #expect(try await agent.request(ExtensionStatus(), within: nil).text == "status of s1")
      await #expect(throws: ConnectionError.self) { try await agent.request(ExtensionSend(text: " "), within: nil) }
      #expect(stage.extensions.asked.withLock { $0 } == ["send s1 hi", "file s1 a.txt nil", "spawn s1 do"])
      agent.close()
    }
  }

  @Test func `pi in a terminal pairs its own session, and a program that an agent has started pairs none`() async throws
  {
    try await ControlStage.running { stage in
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      let agent = try stage.connect()
      let refusal = await #expect(throws: ConnectionError.self) {
        try await agent.request(PairingBeginRequest(messenger: "m"), within: nil)
      }
      #expect(refusal.map { "\($0)" }?.contains("only for pi in a terminal") == true)
      for request in [PairingDecideRequest(pairing: "p1", decision: .once)] {
        await #expect(throws: ConnectionError.self) { try await agent.request(request, within: nil) }
      }
      await #expect(throws: ConnectionError.self) { try await agent.request(PairingListRequest(), within: nil) }
      agent.close()
      #expect(stage.pairing.asked.withLock { $0 }.isEmpty)
      stage.extensions.attachedProcesses.withLock { $0 = [getpid()] }
      let pi = try stage.connect()
      // Another session is not its to give.
      let offer = try await pi.request(PairingBeginRequest(messenger: "m", session: "s2", name: "phone"), within: nil)
      _ = try await pi.request(PairingRevokeRequest(), within: nil)
      #expect(try await pi.request(PairingListRequest(), within: nil).pairings.map(\.session) == ["s1"])
      let waiting = Task { try await pi.request(PairingWaitRequest(pairing: offer.pairing), within: nil) }
      // It holds up nothing else, and the end of the connection takes it back.
      _ = try await pi.request(PairingDecideRequest(pairing: "p1", decision: .trust), within: nil)
      pi.close()
      #expect(await stage.pairing.takenBack.next() == "p1")
      #expect(await stage.pairing.voided.next() == "p1")
      _ = await waiting.result
      #expect(
        Set(stage.pairing.asked.withLock { $0 })
          == ["begin m s1 phone", "revoke s1 - -", "wait p1", "decide trust p1"])
    }
  }

  @Test func `a call that waits for an approval holds up nothing else`() async throws {
    try await ControlStage.running { stage in
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      let agent = try stage.connect()
      async let verdict = agent.request(ExtensionApprove(call: "c", tool: "bash", input: .null), within: nil)
      _ = try await agent.request(ExtensionSend(text: "meanwhile"), within: nil)
      stage.extensions.approvals.post(true)
      #expect(try await verdict.decision == .allow)
      agent.close()
    }
  }

  @Test func `a call that is withdrawn is denied, and no other`() async throws {
    try await ControlStage.running { stage in
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      let agent = try stage.connect()
      async let first = agent.request(ExtensionApprove(call: "c1", tool: "bash", input: .null), within: nil)
      #expect(await stage.extensions.waitingCalls.next() == "c1")
      // The first request of a connection has the id 1.
      _ = try await agent.request(ExtensionWithdraw(request: .integer(7)), within: nil)
      #expect(stage.extensions.withdrawnCalls.isEmpty)
      _ = try await agent.request(ExtensionWithdraw(request: .integer(1)), within: nil)
      #expect(await stage.extensions.withdrawnCalls.next() == "c1")
      #expect(try await first.decision == .deny)
      async let second = agent.request(ExtensionApprove(call: "c2", tool: "bash", input: .null), within: nil)
      _ = try await agent.request(ExtensionWithdraw(request: .integer(1)), within: nil)
      stage.extensions.approvals.post(true)
      #expect(try await second.decision == .allow)
      agent.close()
    }
  }

  @Test func `a call is withdrawn with its connection`() async throws {
    try await ControlStage.running { stage in
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      let agent = try stage.connect()
      async let verdict = agent.request(ExtensionApprove(call: "c", tool: "bash", input: .null), within: nil)
      #expect(await stage.extensions.waitingCalls.next() == "c")
      agent.close()
      #expect(await stage.extensions.withdrawnCalls.next() == "c")
      let answer = try? await verdict
      #expect(answer == nil)
    }
  }

  @Test func `the person at a terminal is answered in words`() async throws {
    try await ControlStage.running { stage in
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      stage.extensions.attachedProcesses.withLock { $0 = [getpid()] }
      let pi = try stage.connect()
      #expect(try await pi.request(TerminalSessions(page: 2), within: nil).text == "page 2 for s1")
      #expect(try await pi.request(TerminalDoctor(), within: nil).text == "findings")
      #expect(try await pi.request(TerminalSendFile(path: "a.md"), within: nil).text == "sent a.md of s1")
      #expect(try await pi.request(TerminalDisconnect(), within: nil).text == "disconnected s1")
      _ = try await pi.request(SessionDetach(reason: "quit"), within: nil)
      #expect(stage.extensions.asked.withLock { $0 } == ["detach s1 quit"])
      pi.close()
    }
  }

  @Test func `an agent, and a program that it starts, is no person at a terminal`() async throws {
    try await ControlStage.running { stage in
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      let agent = try stage.connect()
      #expect(try await agent.request(TerminalSessions(), within: nil).text == "only s1")
      func expectRefusal(_ request: some WireRequest) async {
        await #expect {
          _ = try await agent.request(request, within: nil)
        } throws: {
          "\($0)".contains("is only for pi in a terminal")
        }
      }
      await expectRefusal(TerminalDoctor())
      await expectRefusal(TerminalSendFile(path: "a.md"))
      await expectRefusal(TerminalDisconnect())
      await expectRefusal(SessionDetach(reason: "quit"))
      #expect(stage.extensions.asked.withLock { $0 }.isEmpty)
      agent.close()
    }
  }

  @Test func `an extension that has greeted is told settings that change, and no other program`() async throws {
    try await ControlStage.running { stage in
      stage.agents.withLock { $0 = [getpid(): "s1"] }
      let told = Mailbox<String>()
      let program = try stage.connect { method, _ in told.post("program: \(method)") }
      _ = try await program.request(SessionListRequest(), within: nil)
      let agent = try stage.connect { method, params in
        told.post("\(method) \(String(decoding: params, as: UTF8.self))")
      }
      _ = try await agent.request(ExtensionHello(session: "s1"), within: nil)
      stage.server.tell(ExtensionSettings(approvals: ApprovalSettings(enabled: true, timeoutSeconds: 60)))
      let first = try #require(await told.next())
      #expect(first.hasPrefix("extension.settings ") && first.contains(#""enabled":true"#))
      agent.close()
      program.close()
    }
  }

  @Test func `requests of an extension are not for programs outside`() async throws {
    try await ControlStage.running { stage in
      let program = try stage.connect()
      await #expect(throws: ConnectionError.self) { try await program.request(ExtensionSend(text: "hi"), within: nil) }
      #expect(stage.extensions.asked.withLock { $0 }.isEmpty)
      program.close()
    }
  }
}
