import Drills
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2))) struct SoakTests {
  @Test func `twelve conversations outlive a crash a second`() async throws {
    let drill = SoakDrill(conversations: 12, duration: .seconds(5), interval: .milliseconds(500))
    let report = try await drill.run { _ in }
    // Five seconds say nothing of memory; descriptors and contradictions are told all the same.
    #expect(report.problems.filter { !$0.hasPrefix("memory") && !$0.contains("descriptors") }.isEmpty)
    #expect(report.answered >= 12, "each conversation is answered once the crashes are over")
  }
}
