import MessengerKit
import Testing

@Suite struct RateLimitTests {
  private let post = RateLimits.Lane("post", place: "1")
  private let edit = RateLimits.Lane("edit", place: "1")
  private let elsewhere = RateLimits.Lane("post", place: "2")
  private var limits = RateLimits(maximum: 50, within: .milliseconds(1_150), spare: 15)

  @Test func `an empty bucket waits until it is full again, and other buckets do not`() {
    var limits = limits
    #expect(limits.wait(for: post, now: .zero) == .zero)
    limits.learned(post, remaining: 0, reset: .seconds(1.5), now: .seconds(10))
    #expect(limits.wait(for: post, now: .seconds(10)) == .seconds(1.5))
    #expect(limits.wait(for: elsewhere, now: .seconds(10)) == .zero)
    #expect(limits.wait(for: edit, now: .seconds(10)) == .zero)
    #expect(limits.wait(for: post, now: .seconds(12)) == .zero)
  }

  @Test func `requests of one name share a bucket in each place`() {
    var limits = limits
    for lane in [post, edit] { limits.named("shared", lane) }
    limits.learned(edit, remaining: 1, reset: .seconds(5), now: .zero)
    limits.began(post, now: .zero)
    #expect(limits.wait(for: edit, now: .zero) == .seconds(5))
    #expect(limits.bucket(of: post) == limits.bucket(of: edit))
    #expect(limits.bucket(of: post) != limits.bucket(of: elsewhere))
  }

  @Test func `a refusal delays its bucket, or all`() {
    var limits = limits
    limits.refused(post, for: .seconds(3), now: .zero)
    #expect(limits.wait(for: post, now: .seconds(1)) == .seconds(2))
    #expect(limits.wait(for: edit, now: .seconds(1)) == .zero)
    limits.refusedAll(for: .seconds(7), now: .zero)
    #expect(limits.wait(for: edit, now: .seconds(1)) == .seconds(6))
  }

  @Test func `no more requests than the limit of all go out within the window`() {
    var limits = limits
    for number in 0..<50 { limits.began(.init("post", place: "\(number)"), now: .milliseconds(number)) }
    #expect(limits.wait(for: edit, now: .milliseconds(60)) == .milliseconds(1_090))
    #expect(limits.wait(for: edit, now: .milliseconds(1_150)) == .zero)
  }

  @Test func `limits that a service states apply in each place separately, beside those of its answers`() {
    var limits = RateLimits(maximum: 30, within: .seconds(1), spare: 5) { lane in
      guard lane.kind == "post" else { return [] }
      return [SlidingWindow(maximum: 1, within: .seconds(1)), SlidingWindow(maximum: 3, within: .seconds(60))]
    }
    for second in 0..<3 {
      #expect(limits.wait(for: post, now: .seconds(second)) == .zero)
      limits.began(post, now: .seconds(second))
      #expect(limits.wait(for: post, now: .seconds(second)) >= .seconds(1))
    }
    #expect(limits.wait(for: post, now: .seconds(5)) == .seconds(55))
    #expect(limits.patientWait(for: post, now: .seconds(60)) == .seconds(1))
    #expect(limits.wait(for: post, now: .seconds(60)) == .zero)
    #expect(limits.wait(for: elsewhere, now: .seconds(5)) == .zero)
    #expect(limits.wait(for: edit, now: .seconds(5)) == .zero)
    limits.refused(post, for: .seconds(90), now: .seconds(5))
    #expect(limits.wait(for: post, now: .seconds(5)) == .seconds(90))
  }

  @Test func `a request that may wait leaves room for one that may not`() {
    var limits = limits
    limits.learned(edit, remaining: 1, reset: .seconds(4), now: .zero)
    #expect(limits.patientWait(for: edit, now: .zero) == .seconds(4))
    #expect(limits.wait(for: edit, now: .zero) == .zero)
    #expect(limits.patientWait(for: edit, now: .seconds(4)) == .zero)
    for number in 0..<35 { limits.began(.init("post", place: "\(number)"), now: .milliseconds(number)) }
    let other = RateLimits.Lane("edit", place: "7")
    #expect(limits.patientWait(for: other, now: .milliseconds(100)) == .milliseconds(1_050))
    #expect(limits.wait(for: other, now: .milliseconds(100)) == .zero)
  }
}
