import MessengerKit
import Testing

@testable import Discord
@testable import DiscordAPI

@Suite struct RateLimitTests {
  @Test func `routes of one method and path share a limit, in each channel separately`() {
    #expect(Route.createMessage(in: "1").lane == Route.createMessage(in: "1").lane)
    #expect(Route.editMessage("8", in: "1").lane == Route.editMessage("9", in: "1").lane)
    #expect(Route.createMessage(in: "1").lane != Route.createMessage(in: "2").lane)
    #expect(Route.createMessage(in: "1").lane != Route.editMessage("9", in: "1").lane)
  }

  @Test func `no more than fifty requests go out in a second`() {
    var limits = RESTClient.defaultLimits
    for number in 0..<50 { limits.began(Route.createMessage(in: "\(number)").lane, now: .milliseconds(number)) }
    // Requests that go out evenly may arrive in a bunch, so the wait is somewhat more than a second.
    #expect(limits.wait(for: Route.me.lane, now: .milliseconds(60)) == .milliseconds(1_090))
  }

  @Test func `requests stop long before Discord bans the address`() {
    var invalid = RESTClient.invalidLimit
    for _ in 0..<4_999 { invalid.add(now: .zero) }
    #expect(invalid.wait(now: .seconds(1)) == .zero)
    invalid.add(now: .zero)
    #expect(invalid.wait(now: .seconds(1)) == .seconds(599))
    #expect(invalid.wait(now: .seconds(600)) == .zero)
  }
}
