import RelayWire
import Testing

@testable import Discord

@Suite struct DiscordStateTests {
  @Test func `the last message of each conversation is kept, and comes back`() {
    var state = DiscordState(nil)
    state.saw("5", in: "a")
    state.saw("7", in: "b")
    state.saw("6", in: "a")
    state.saw("4", in: "a")
    let back = DiscordState(state.asJSON)
    #expect(back.watermark(of: "a") == "6" && back.watermark(of: "b") == "7")
  }

  @Test func `many strangers push out no channel that is configured`() {
    var state = DiscordState(nil)
    state.saw("1", in: "mine", keeping: ["mine"])
    for number in 0..<500 { state.saw("\(number + 2)", in: "other-\(number)", keeping: ["mine"]) }
    #expect(state.watermark(of: "mine") == "1")
    #expect(state.watermarks.count == DiscordState.mostWatermarks)
  }

  @Test func `where something was missed nothing counts as seen until it was fetched`() {
    var state = DiscordState(nil)
    state.saw("1", in: "a")
    state.miss("a")
    state.saw("2", in: "a")
    var back = DiscordState(state.asJSON)
    back.saw("3", in: "a")
    #expect(back.watermark(of: "a") == "1")
    back.caughtUp("a")
    back.saw("3", in: "a")
    #expect(back.watermark(of: "a") == "3")
  }

  @Test func `another program is noted again after an hour, and after the clock was set back`() {
    var state = DiscordState(nil)
    let times: [Double] = [10_000, 13_599, 13_600, 10_000, 10_001]
    #expect(times.map { state.noteOther(in: "a", now: $0) } == [true, false, true, true, false])
  }

  @Test func `texts are cut by what Discord counts at its strictest`() {
    #expect("abc".cut(3) == "abc" && "abcd".cut(3) == "abc")
    #expect("👩‍👩‍👧‍👦👩‍👩‍👧‍👦".cut(12).utf16.count <= 12)
    #expect("é\u{301}\u{301}\u{301}\u{301}".cut(2).utf16.count <= 2)
  }
}
