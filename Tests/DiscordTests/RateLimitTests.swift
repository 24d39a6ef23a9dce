import Testing

@testable import Discord

@Suite struct RateLimitTests {
  private let post = Route.createMessage(in: "1")
  private let edit = Route.editMessage("9", in: "1")

  private func headers(_ bucket: String, remaining: Int, after: Double) -> [String: String] {
    [
      "x-ratelimit-bucket": bucket, "x-ratelimit-remaining": "\(remaining)", "x-ratelimit-reset-after": "\(after)",
    ]
  }

  @Test func `an empty bucket waits until it is full again, and no other does`() {
    var limits = RateLimits()
    #expect(limits.wait(for: post, now: .zero) == .zero)
    limits.took(post, status: 200, headers: headers("a", remaining: 0, after: 1.5), now: .seconds(10))
    #expect(limits.wait(for: post, now: .seconds(10)) == .seconds(1.5))
    #expect(limits.wait(for: .createMessage(in: "2"), now: .seconds(10)) == .zero)
    #expect(limits.wait(for: edit, now: .seconds(10)) == .zero)
    #expect(limits.wait(for: post, now: .seconds(12)) == .zero)
  }

  @Test func `routes that Discord counts together share a bucket`() {
    var limits = RateLimits()
    limits.took(post, status: 200, headers: headers("shared", remaining: 3, after: 5), now: .zero)
    limits.took(edit, status: 200, headers: headers("shared", remaining: 1, after: 5), now: .zero)
    limits.began(post, now: .zero)
    #expect(limits.wait(for: edit, now: .zero) == .seconds(5))
    #expect(limits.bucket(of: post) == limits.bucket(of: edit))
    #expect(limits.bucket(of: post) != limits.bucket(of: .createMessage(in: "2")))
  }

  @Test func `a refusal is waited for: of its bucket, or of all`() {
    var limits = RateLimits()
    limits.refused(post, .init(wait: .seconds(3), isGlobal: false, isShared: false), now: .zero)
    #expect(limits.wait(for: post, now: .seconds(1)) == .seconds(2))
    #expect(limits.wait(for: edit, now: .seconds(1)) == .zero)
    limits.refused(post, .init(wait: .seconds(7), isGlobal: true, isShared: false), now: .zero)
    #expect(limits.wait(for: edit, now: .seconds(1)) == .seconds(6))
  }

  @Test func `fifty requests a second are the most`() {
    var limits = RateLimits()
    for number in 0..<50 { limits.began(.createMessage(in: "\(number)"), now: .milliseconds(number)) }
    // What goes out evenly may arrive in a bunch, so it is somewhat more than a second.
    #expect(limits.wait(for: edit, now: .milliseconds(60)) == .milliseconds(1_090))
    #expect(limits.wait(for: edit, now: .milliseconds(1_150)) == .zero)
  }

  @Test func `what may wait leaves room for what may not`() {
    var limits = RateLimits()
    limits.took(edit, status: 200, headers: headers("edits", remaining: 1, after: 4), now: .zero)
    #expect(limits.patientWait(for: edit, now: .zero) == .seconds(4))
    #expect(limits.wait(for: edit, now: .zero) == .zero)
    #expect(limits.patientWait(for: edit, now: .seconds(4)) == .zero)
    for number in 0..<35 { limits.began(.createMessage(in: "\(number)"), now: .milliseconds(number)) }
    #expect(limits.patientWait(for: .editMessage("1", in: "7"), now: .milliseconds(100)) == .milliseconds(1_050))
    #expect(limits.wait(for: .editMessage("1", in: "7"), now: .milliseconds(100)) == .zero)
  }

  @Test func `long before Discord bans an address nothing more is asked`() {
    var limits = RateLimits()
    for _ in 0..<RateLimits.mostInvalid - 1 { limits.took(post, status: 403, headers: [:], now: .zero) }
    limits.refused(edit, .init(wait: .zero, isGlobal: false, isShared: true), now: .zero)
    #expect(limits.wait(for: post, now: .seconds(1)) == .zero)
    limits.took(post, status: 401, headers: [:], now: .zero)
    #expect(limits.wait(for: post, now: .seconds(1)) == .seconds(599))
    #expect(limits.wait(for: post, now: .seconds(600)) == .zero)
  }
}
