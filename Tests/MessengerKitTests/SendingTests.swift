import MessengerKit
import PluginSDK
import Testing

@Suite struct SendingTests {
  @Test func `a burst goes out at once, and then one event after the other`() {
    var bucket = TokenBucket(burst: 3, interval: .seconds(2))
    for _ in 0..<3 {
      #expect(bucket.wait(now: .seconds(10)) == .zero)
      bucket.take(now: .seconds(10))
    }
    #expect(bucket.wait(now: .seconds(10)) == .seconds(2))
    #expect(bucket.wait(for: 3, now: .seconds(10)) == .seconds(6))
    #expect(bucket.wait(for: 100, now: .seconds(10)) == .seconds(6))
    #expect(bucket.wait(now: .seconds(12)) == .zero)
    #expect(bucket.wait(for: 3, now: .seconds(16)) == .zero)
  }

  @Test func `a key that comes again has its receipt, or goes on where it was`() {
    var progress = SendProgress<[String]>(most: 2)
    #expect(progress.rest(of: "a") == nil && progress.receipt(of: "a") == nil)
    progress.sent("a", but: ["the end"])
    #expect(progress.rest(of: "a") == ["the end"])
    progress.finish("a", Receipt(message: "m1"))
    #expect(progress.receipt(of: "a")?.message == "m1" && progress.rest(of: "a") == nil)
    progress.sent("b", but: ["more"])
    progress.forget("b")
    #expect(progress.rest(of: "b") == nil)
    for key in ["c", "d"] { progress.finish(key, Receipt(message: key)) }
    #expect(progress.receipt(of: "a") == nil && progress.receipt(of: "d") != nil)
  }
}
