import RelayConcurrency
import Testing

@Suite struct ExponentialBackoffTests {
  @Test func `waits double up to the limit`() {
    var backoff = ExponentialBackoff(from: .milliseconds(50), to: .milliseconds(300))
    let waits = (0..<6).map { _ in backoff.next() }
    #expect(waits == [50, 100, 200, 300, 300, 300].map(Duration.milliseconds))
  }

  @Test func `a reset starts with the first wait again`() {
    var backoff = ExponentialBackoff(from: .seconds(1), to: .seconds(60))
    for _ in 0..<3 { _ = backoff.next() }
    backoff.reset()
    #expect(backoff.next() == .seconds(1))
    #expect(backoff.next() == .seconds(2))
  }

  @Test(arguments: [(0.0, 8000), (0.5, 7000), (1.0, 6000), (-1.0, 8000), (7.0, 6000)])
  func `jitter takes off no more than its share`(random: Double, milliseconds: Int) {
    let backoff = ExponentialBackoff(from: .seconds(1), to: .seconds(60), jitter: 0.25)
    #expect(backoff.wait(3, random: random) == .milliseconds(milliseconds))
  }

  @Test(arguments: [-1, 0, 63, 64, .max]) func `no count overflows or exceeds the limit`(count: Int) {
    let backoff = ExponentialBackoff(from: .milliseconds(250), to: .seconds(60))
    #expect(backoff.wait(count) == (count < 1 ? .milliseconds(250) : .seconds(60)))
    #expect(ExponentialBackoff(from: .zero, to: .seconds(60)).wait(count) == .zero)
    #expect(ExponentialBackoff(from: .seconds(90), to: .seconds(60)).wait(count) == .seconds(60))
  }
}
