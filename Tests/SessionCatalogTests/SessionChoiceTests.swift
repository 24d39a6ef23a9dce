import AgentRuntime
import RelayConfig
import RelayModel
import Testing

@testable import SessionCatalog

@Suite struct SessionChoiceTests {
  @Test func `a number without a session chooses no session`() async {
    let none = AddressableSessions(from: nil, among: [])
    for number in [Int.min, -1, 0, 1, Int.max] {
      guard case .none = await none.choose("\(number)") else {
        Issue.record("\(number) chose a session")
        continue
      }
    }
  }

  @Test func `a few digits choose a session by its number, never by the beginning of its id`() async {
    let record = SessionRecord(id: "2f9ab", name: "s", directory: "/", model: nil, wantsToolImages: false)
    let sessions = AddressableSessions(from: nil, among: [SessionListing(record, configuredModel: nil)])
    guard case .none = await sessions.choose("2"), case .one = await sessions.choose("2f"),
      case .one = await sessions.choose("1")
    else {
      Issue.record("a number chose by an id, or an id was not found")
      return
    }
  }
}
