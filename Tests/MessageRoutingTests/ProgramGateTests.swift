import RelayConcurrency
import Testing

@testable import MessageRouting

@Suite(.timeLimit(.minutes(1))) struct ProgramGateTests {
  @Test func `a gate does not close while a request is carried out`() async {
    let gate = ProgramGate()
    await gate.pass { #expect(!gate.close()) }
    #expect(gate.close())
    // A second snapshot finds it closed.
    #expect(gate.close())
    gate.open()
  }

  @Test func `a request waits until the gate is open again`() async {
    let gate = ProgramGate()
    let steps = Mailbox<String>()
    #expect(gate.close())
    await withDiscardingTaskGroup { group in
      group.addTask { await gate.pass { _ = steps.post("carried out") } }
      // As often as upgrades are tried, it goes on waiting.
      for _ in 0..<100 {
        await Task.yield()
        #expect(gate.close())
      }
      steps.post("open")
      gate.open()
    }
    #expect(await steps.next() == "open")
    #expect(await steps.next() == "carried out")
  }

  @Test func `a request that fails leaves the gate`() async {
    struct Failure: Error {}
    let gate = ProgramGate()
    await #expect(throws: Failure.self) { try await gate.pass { () async throws(Failure) in throw Failure() } }
    #expect(gate.close())
  }
}
