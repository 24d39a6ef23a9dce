import MessengerKit
import Testing

@Suite struct StreamPositionTests {
  @Test func `the host has everything before the first event in progress`() {
    var position = StreamPosition()
    #expect(position.safe == nil)
    for number in [5, 6, 9] { position.saw(number) }
    #expect(position.safe == 9)
    for number in [6, 9] { position.begin(number) }
    #expect(position.safe == 5)
    position.finish(6)
    #expect(position.safe == 8)
    position.finish(9)
    #expect(position.safe == 9)
  }

  @Test func `a stream that is renumbered continues at its new number`() {
    var position = StreamPosition()
    position.saw(900)
    position.begin(900)
    position.saw(1)
    #expect(position.safe == 1)
  }

  @Test func `the position is to be stored after a number of events, whatever their ids`() {
    var position = StreamPosition(keptEvery: 2)
    position.saw(1)
    #expect(!position.isDue)
    position.saw(1_000)
    #expect(position.isDue)
    position.keep()
    #expect(!position.isDue)
  }
}
