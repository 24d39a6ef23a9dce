import Testing

@testable import MessageRouting

@Suite struct RecoveryProgressTests {
  @Test func `an instance counts as recovered when its work is queued`() {
    var progress = RecoveryProgress()
    let first = progress.begin("fake/default")
    #expect(first && !progress.isFinished("fake/default"))
    // A restarted plugin recovers nothing once more, even where the first recovery failed.
    let second = progress.begin("fake/default")
    #expect(!second)
    #expect(!progress.isFinished("fake/default"))
    progress.finish("fake/default")
    #expect(progress.isFinished("fake/default") && !progress.isFinished("other/default"))
  }
}
