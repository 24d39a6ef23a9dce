import RelayConfig
import RelayWire
import Testing

@testable import Conversations

@Suite struct MessengerProfileTests {
  private final class Connection: Sendable {}

  private func profile(_ capabilities: Capabilities, interval: Duration? = nil) -> MessengerProfile {
    var settings = ConversationOutput.Settings()
    settings.editInterval = interval
    return MessengerProfile(Conversation(id: "c", kind: .dm), capabilities, settings)
  }

  @Test(arguments: [(nil, 3_800), (2_000, 1_900), (40, 50)])
  func `the limit of a piece is below that of the platform`(longest: Int?, limit: Int) {
    var capabilities = Capabilities()
    capabilities.maximumTextLength = longest
    let profile = profile(capabilities)
    #expect(profile.limit == limit)
    #expect(profile.fits(String(repeating: "a", count: limit)))
    #expect(!profile.fits(String(repeating: "a", count: limit + 1)))
    #expect(profile.fits(String(repeating: "a", count: 5 * limit), messages: 5))
  }

  @Test func `the rate of edits is the configured one, else that of the platform`() {
    var capabilities = Capabilities()
    #expect(profile(capabilities).editInterval == MessengerProfile.defaultEditInterval)
    capabilities.minimumEditInterval = 1_200
    #expect(profile(capabilities).editInterval == .milliseconds(1_200))
    #expect(profile(capabilities, interval: .seconds(3)).editInterval == .seconds(3))
  }

  @Test func `answers grow only on platforms that can edit and with streaming on`() {
    var capabilities = Capabilities()
    #expect(!profile(capabilities).streams)
    #expect(!profile(capabilities).editsQuestions)
    capabilities.edit = true
    #expect(profile(capabilities).streams)
    #expect(profile(capabilities).editsQuestions)
    capabilities.edit = nil
    capabilities.buttons = ButtonLimits(rows: 1, perRow: 1, labelLength: 10, idLength: 10)
    #expect(profile(capabilities).editsQuestions)
  }

  @Test func `abilities are read once for each connection`() {
    var first = Capabilities()
    first.dialect = "markdown"
    var profile = profile(Capabilities())
    #expect(profile.dialect == "plain")
    let connection = Connection()
    var messenger = Config.Messenger(kind: "k", instance: "i")
    messenger.editInterval = .seconds(9)
    profile.update(from: connection, first, messenger)
    #expect(profile.dialect == "markdown")
    #expect(profile.editInterval == .seconds(9))
    profile.update(from: connection, Capabilities(), nil)
    #expect(profile.dialect == "markdown")
    profile.update(from: Connection(), Capabilities(), nil)
    #expect(profile.dialect == "plain")
    #expect(profile.editInterval == .seconds(9))
  }
}
