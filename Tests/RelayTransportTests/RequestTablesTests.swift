import RelayWire
import Testing

@testable import RelayTransport

@Suite struct RequestTablesTests {
  @Test func `a request is admitted within the limits, and again once others are answered`() {
    var requests = IncomingRequests()
    for number in 0..<ProtocolLimits.maximumRequestsInFlight {
      #expect(requests.admit(.integer(Int64(number)), bytes: 1) == nil)
    }
    #expect(requests.admit(.string("more"), bytes: 1)?.code == .busy)
    requests.answered(.integer(0))
    #expect(requests.admit(.string("more"), bytes: 1) == nil)
  }

  @Test func `bytes count as long as their request is unanswered`() {
    var requests = IncomingRequests()
    #expect(requests.admit(.integer(1), bytes: ProtocolLimits.maximumBytesInFlight) == nil)
    #expect(requests.admit(.integer(2), bytes: 1)?.code == .busy)
    // Unknown, or answered already: nothing is given back.
    requests.answered(.integer(2))
    #expect(requests.admit(.integer(2), bytes: 1)?.code == .busy)
    requests.answered(.integer(1))
    requests.answered(.integer(1))
    #expect(requests.admit(.integer(2), bytes: ProtocolLimits.maximumBytesInFlight) == nil)
    #expect(requests.admit(.integer(2), bytes: 0)?.code == .invalidRequest)
  }

  @Test func `a request that is given up before it is sent is reported as not sent`() {
    var requests = OutgoingRequests<String>()
    let (first, second) = (requests.makeID(), requests.makeID())
    #expect(requests.abandon(first) == nil)
    requests.add(second, "second")
    #expect(requests.abandon(second) == "second")
    #expect(requests.isEmpty)
    let known = [first, first, second].map { requests.wasAbandoned($0) }
    #expect(known == [true, false, false])
  }

  @Test func `requests that were given up long ago are forgotten`() {
    var requests = OutgoingRequests<String>()
    let old = requests.makeID()
    _ = requests.abandon(old)
    for _ in 0..<2 * OutgoingRequests<String>.maximumAbandoned { _ = requests.abandon(requests.makeID()) }
    let isOldKnown = requests.wasAbandoned(old)
    #expect(!isOldKnown)
    let last = requests.makeID()
    _ = requests.abandon(last)
    let isLastKnown = requests.wasAbandoned(last)
    #expect(isLastKnown)
  }
}
