import Drills
import TestSupport
import Testing

/// The drills in short: `make drill` runs them at length.
@Suite(.serialized, .timeLimit(.minutes(4))) struct KillTests {
  @Test func `forty kills lose no message and repeat none`() async throws {
    let folder = try TemporaryFolder()
    let library = try await Interposer.build(in: folder.path)
    let campaign = KillCampaign(count: 40, messages: 6, seed: .random(in: 1...999_999), jobs: 3, library: library)
    let lines = Lines()
    let total = try await campaign.run { lines.add($0) }
    #expect(total.isSound, "seed \(campaign.seed)\n\(lines.text)")
    #expect(total.kills == 40)
  }

  @Test func `a day of upgrades loses no message and repeats none`() async throws {
    let folder = try TemporaryFolder()
    let drill = KillDrill(library: try await Interposer.build(in: folder.path), messages: 12)
    let report = try await drill.run(
      .init(victim: .daemon, moment: .never, platform: .lookup, upgrades: .allDay))
    #expect(report.ledger.isSound, "\(report.ledger.account)")
    #expect(report.upgrades >= KillDrill.fewestUpgrades)
  }
}
