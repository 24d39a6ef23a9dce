import MessengerKit
import RelayJSON
import RelayWire
import Testing

@testable import Discord

@Suite struct DiscordStateTests {
  @Test func `the stored state of an earlier version is understood`() {
    let state = DiscordState(["seen": [["a", "6"], ["b", "7"]], "missed": ["b"], "me": "42"])
    #expect(state.seen["a"] == "6" && state.me == "42")
    let kept = state.asJSON
    #expect(kept["seen"] == [["a", "6"], ["b", "7"]] && kept["missed"] == ["b"])
  }

  @Test func `another program with the token is reported again after an hour, and after the clock was set back`() {
    var state = DiscordState(nil)
    let times: [Double] = [10_000, 13_599, 13_600, 10_000, 10_001]
    #expect(times.map { state.noteOther(in: "a", now: $0) } == [true, false, true, true, false])
  }
}
