import RelayModel
import SessionStates
import Testing

@Suite struct TerminalPresenceTests {
  /// The number of an absence without a farewell.
  private func leave(_ presence: inout TerminalPresence) throws -> Int {
    let departure = presence.left()
    guard case .absence(let number) = departure else {
      throw Unexpected(departure: departure)
    }
    return number
  }

  private struct Unexpected: Error { let departure: TerminalPresence.Departure }

  @Test func `a short absence is told to nobody`() throws {
    var presence = TerminalPresence()
    let absence = try leave(&presence)
    let wasTold = presence.returned()
    let isTold = presence.takeNotice(of: absence)
    #expect(!wasTold && !isTold)
  }

  @Test func `a long absence is told once, and its end too`() throws {
    var presence = TerminalPresence()
    let absence = try leave(&presence)
    let first = presence.takeNotice(of: absence)
    let second = presence.takeNotice(of: absence)
    #expect(first && !second)
    let (wasTold, isTold) = (presence.returned(), presence.returned())
    #expect(wasTold && !isTold)
  }

  @Test func `the time of an earlier absence says nothing about a later one`() throws {
    var presence = TerminalPresence()
    let first = try leave(&presence)
    _ = presence.returned()
    let second = try leave(&presence)
    let (early, late) = (presence.takeNotice(of: first), presence.takeNotice(of: second))
    #expect(!early && late)
  }

  @Test func `a pi that comes and goes while it is missed is told of no more`() throws {
    var presence = TerminalPresence()
    let first = try leave(&presence)
    _ = presence.takeNotice(of: first)
    let again = try leave(&presence)
    let isTold = presence.takeNotice(of: again)
    #expect(!isTold)
    #expect(presence.state == .missed)
  }

  @Test func `a farewell is told once, whether it is heard before the end of the connection or after`() throws {
    var presence = TerminalPresence()
    let early = presence.says(.ended)
    let departure = presence.left()
    #expect(!early && departure == .farewell(.ended))
    #expect(presence.status(isConnected: false) == .ended)
    let wasTold = presence.returned()
    let absence = try leave(&presence)
    let late = presence.says(.disconnected)
    let again = presence.says(.disconnected)
    let isTold = presence.takeNotice(of: absence)
    #expect(wasTold && late && !again && !isTold)
    #expect(presence.status(isConnected: false) == .disconnected)
  }

  @Test func `a farewell after the absence was told is shown, and not told again`() throws {
    var presence = TerminalPresence()
    _ = presence.takeNotice(of: try leave(&presence))
    let isTold = presence.says(.ended)
    #expect(!isTold && presence.status(isConnected: false) == .ended)
  }

  @Test func `a terminal that says nothing is away, and connected again when it is back`() throws {
    var presence = TerminalPresence()
    #expect(presence.status(isConnected: false) == .away)
    _ = try leave(&presence)
    #expect(presence.status(isConnected: false) == .away)
    _ = presence.says(.ended)
    _ = presence.returned()
    #expect(presence.status(isConnected: true) == .connected)
  }
}
