import Drills
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(4))) struct ModelTests {
  @Test func `the state machine explains each message of thirty random walks`() async throws {
    let folder = try TemporaryFolder()
    let drill = ModelDrill(library: try await Interposer.build(in: folder.path))
    let seed = UInt64.random(in: 1...999_999)
    let failures = try await drill.run(count: 30, seed: seed, jobs: 3, shrinks: false) { _ in }
    #expect(failures.isEmpty, "seed \(seed)\n\(failures.joined(separator: "\n"))")
  }
}
