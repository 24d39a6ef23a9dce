import SessionStates
import Testing

@Suite struct TerminalPresenceTests {
  @Test func `a short absence is told to nobody`() {
    var presence = TerminalPresence()
    let absence = presence.left()
    let wasTold = presence.returned()
    let isTold = presence.takeNotice(of: absence)
    #expect(!wasTold && !isTold)
  }

  @Test func `a long absence is told once, and its end too`() {
    var presence = TerminalPresence()
    let absence = presence.left()
    let first = presence.takeNotice(of: absence)
    let second = presence.takeNotice(of: absence)
    #expect(first && !second)
    let (wasTold, isTold) = (presence.returned(), presence.returned())
    #expect(wasTold && !isTold)
  }

  @Test func `the time of an earlier absence says nothing about a later one`() {
    var presence = TerminalPresence()
    let first = presence.left()
    _ = presence.returned()
    let second = presence.left()
    let (early, late) = (presence.takeNotice(of: first), presence.takeNotice(of: second))
    #expect(!early && late)
  }

  @Test func `a pi that comes and goes while it is missed is told of no more`() {
    var presence = TerminalPresence()
    let first = presence.left()
    _ = presence.takeNotice(of: first)
    let again = presence.left()
    let isTold = presence.takeNotice(of: again)
    #expect(!isTold)
    #expect(presence.state == .missed)
  }
}
