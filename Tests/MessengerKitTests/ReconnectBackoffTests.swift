import Testing

@testable import MessengerKit

@Suite struct ReconnectBackoffTests {
  @Test func `waits grow while a server refuses, and a good connection resets them`() {
    var backoff = ReconnectBackoff()
    let waits = (0..<10).map { _ in backoff.next(after: .seconds(1), jitter: 1) }
    #expect(waits.first == .milliseconds(500))
    #expect(waits.dropFirst() == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { Duration.seconds($0) }[...])
    #expect(backoff.next(after: ReconnectBackoff.goodAfter, jitter: 0) == .zero)
    #expect(backoff.next(after: nil, jitter: 0) == .milliseconds(500))
  }
}
