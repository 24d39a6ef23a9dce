import Drills
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: PythonServer.isThere, "scripts/setup-peers"))
struct DiscordDrillTests {
  @Test func `ten kills at Discord lose no message and repeat none`() async throws {
    let folder = try TemporaryFolder()
    let library = try await Interposer.build(in: folder.path)
    let drill = DiscordDrill(kills: 10, seed: .random(in: 1...999_999), library: library)
    let account = try await drill.run { _ in }
    #expect(account.isSound, "seed \(drill.seed): \(account) \(account.problems)")
  }
}
