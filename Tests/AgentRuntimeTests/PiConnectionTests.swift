import PiRPC
import ProcessSupervision
import RelayConcurrency
import RelayWire
import TestSupport
import Testing

@testable import AgentRuntime
@testable import RelayLogging

@Suite(.timeLimit(.minutes(1))) struct PiConnectionTests {
  private func connection(_ script: String, in folder: TemporaryFolder) throws -> PiConnection {
    try PiConnection(
      .init(
        name: "pi", path: "/bin/sh", arguments: ["-c", script], environment: ["PATH": "/usr/bin:/bin"]),
      guardian: nil, log: LogFile(path: folder.path + "/log", limits: .init()), wantsToolImages: false,
      clock: ContinuousClock(), text: { _ in })
  }

  @Test func `an answer is delivered after the events before it and before the events behind it`() async throws {
    let folder = try TemporaryFolder()
    let pi = try connection(
      """
      read -r line
      printf '{"type":"agent_start"}\\n{"id":"relay-1","type":"response","command":"get_state","success":true}\\n'
      printf '{"type":"agent_settled"}\\n'
      """, in: folder)
    async let answer = pi.send(.getState, within: nil)
    var heard: [String] = []
    while let item = await pi.incoming.next() {
      switch item {
      case .text(let text): heard.append(text)
      case .event(let event): heard.append("\(event)")
      case .answer(let answer):
        heard.append("answer")
        answer.deliver()
      case .end: break
      }
    }
    #expect(heard == ["agentStart", "answer", "agentSettled"])
    #expect(try await answer.success)
    await pi.stop()
  }

  @Test func `a caller that waits for an answer gets an error when the reader ends`() async throws {
    let folder = try TemporaryFolder()
    let pi = try connection(
      """
      read -r line
      printf '{"id":"relay-1","type":"response","command":"get_state","success":true}\\n'
      read -r line
      """, in: folder)
    pi.stopListening()
    await #expect(throws: PiError.ended) { try await pi.send(.getState, within: nil) }
    await pi.stop()
  }
}
