import Drills
import FoundationEssentials
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2))) struct PowerLossTests {
  @Test func `nothing is acknowledged or sent before it is on the disk`() async throws {
    let folder = try TemporaryFolder()
    let library = try await Interposer.build(in: folder.path)
    let file = folder.path + "/trace"
    try await Day.live(messages: 6, programs: Interposer.tracing(to: file, library: library))
    let trace = try #require(FileManager.default.contents(atPath: file))
    let check = PowerLossCheck(Array(trace))
    #expect(check.violations.isEmpty, "\(check.violations)")
    #expect(check.acknowledged >= 24)
    #expect(check.sent >= 24)
    // The check itself sees what it is there for.
    let blind = PowerLossCheck(Array(trace), ignoresFlushes: true)
    #expect(blind.violations.count == blind.acknowledged + blind.sent)
  }
}
