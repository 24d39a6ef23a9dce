import RelayWire
import Testing

@Suite struct FiguresTests {
  @Test(arguments: [
    (Duration.zero, "0 s"), (.seconds(-3), "0 s"), (.microseconds(400), "0 s"), (.milliseconds(40), "40 ms"),
    (.microseconds(999_600), "1 s"), (.seconds(0.23579599765507264), "236 ms"), (.milliseconds(1_549), "1.5 s"),
    (.milliseconds(9_960), "10 s"), (.seconds(10), "10 s"), (.milliseconds(59_700), "1 min"),
    (.seconds(90), "1 min 30 s"),
    (.seconds(1_800), "30 min"), (.milliseconds(3_599_600), "1 h"), (.seconds(7_500), "2 h 5 min"),
    (.seconds(86_399), "1 d"), (.seconds(86_400 * 3 + 4 * 3_600), "3 d 4 h"),
  ])
  func `a duration has one form`(duration: Duration, text: String) {
    #expect(duration.forPeople == text)
  }

  @Test func `seconds of other programs may be any number`() {
    #expect(Duration(seconds: 1.5) == .milliseconds(1_500))
    #expect(Duration(seconds: -1) == .zero)
    #expect(Duration(seconds: .nan) == .zero)
    #expect(Duration(seconds: .infinity) == .zero)
    #expect(Duration(seconds: 1e300).forPeople.hasSuffix(" h"))
    #expect(Duration.milliseconds(Int.max).forPeople.hasSuffix(" h"))
    #expect(Duration.seconds(Int64.max).forPeople.hasSuffix(" h"))
  }

  @Test(arguments: [
    (0, "0 bytes"), (1, "1 byte"), (1_023, "1023 bytes"), (1_024, "1 KiB"), (1_536, "1.5 KiB"), (10 << 10, "10 KiB"),
    (1_048_575, "1 MiB"), (1 << 20, "1 MiB"), (64 << 20, "64 MiB"), (123_456_789, "118 MiB"), (5 << 30, "5 GiB"),
    (Int.max, "8 EiB"),
  ])
  func `a size has one form`(bytes: Int, text: String) {
    #expect(ByteCount(bytes).description == text)
  }
}
