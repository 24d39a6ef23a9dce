import MessengerKit
import PluginSDK
import RelayConcurrency
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

  @Test func `a repeated key gets its receipt, or continues at the open part`() {
    var progress = SendProgress<[String]>(maximum: 2)
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

@Suite(.timeLimit(.minutes(1))) struct PartwiseSendTests {
  private let sends = PartwiseSends<String>(pause: 7)
  private let parts = Locked<[String]>([])

  private func send(_ key: String, taking count: Int, failing failure: DeliveryFailure? = nil) async throws -> Receipt {
    try await sends.send(key) {
      $0 ?? ["a", "b", "c"]
    } by: { rest in
      if let failure { throw failure }
      parts.withLock { $0 += rest.prefix(count) }
      return min(count, rest.count)
    }
  }

  @Test func `a part that is not accepted is sent when the key is repeated, and no part twice`() async throws {
    for count in [2, 0] {
      await #expect(throws: DeliveryFailure.rateLimited(retryAfter: 7)) { try await send("k", taking: count) }
    }
    for _ in 0..<2 { #expect(try await send("k", taking: 2).message == "k") }
    #expect(parts.withLock { $0 } == ["a", "b", "c"])
  }

  @Test func `all parts are sent again when the outcome of one is unknown`() async throws {
    await #expect(throws: DeliveryFailure.rateLimited(retryAfter: 7)) { try await send("k", taking: 2) }
    await #expect(throws: DeliveryFailure.unknownOutcome("?")) {
      try await send("k", taking: 0, failing: .unknownOutcome("?"))
    }
    _ = try await send("k", taking: 3)
    #expect(parts.withLock { $0 } == ["a", "b", "a", "b", "c"])
  }

  @Test func `a rate lets out as many as the limit has room for`() async {
    let pace = Pace(burst: 3, interval: .seconds(100))
    #expect(pace.isIdle)
    let sent = Locked<[Int]>([])
    #expect(await pace.send([1, 2, 3, 4], within: .seconds(50)) { number in sent.withLock { $0.append(number) } } == 3)
    #expect(sent.withLock { $0 } == [1, 2, 3])
    #expect(!pace.isIdle && pace.wait > .seconds(50))
  }

  @Test func `a receipt lists the refusals of its own place only`() async throws {
    let receipts = SendReceipts()
    func send(_ word: String, _ place: String, count: Int = 1, ask: () -> Void) async throws -> Int {
      try await receipts.confirm(word, in: place, at: "Chat") {
        receipts.refused(in: "a", .forbidden("no"))
        return count
      } ask: {
        ask()
      }
    }
    await #expect(throws: DeliveryFailure.forbidden("no")) { try await send("1", "a") { receipts.answered("1") } }
    #expect(try await send("2", "b") { receipts.answered("2") } == 1)
    #expect(try await send("3", "b", count: 0) { Issue.record("it asks about nothing") } == 0)
    await #expect(throws: DeliveryFailure.unknownOutcome("Chat: the server did not say that it has the message")) {
      _ = try await send("4", "b") { receipts.end() }
    }
  }

  @Test func `ids of one process are unique`() {
    var ids = OwnIDs()
    #expect(Set((0..<100).map { _ in ids.next() }).count == 100)
  }
}

@Suite(.timeLimit(.minutes(1))) struct ArrivalTests {
  @Test func `everything that was read is handled in order before the connection counts as ended`() async throws {
    let handled = Locked<[Int]>([])
    let ending = try await Arrivals.run { post in
      for number in 0..<100 { post(number) }
      return "it hung up"
    } handle: { (number: Int) in
      await Task.yield()
      handled.withLock { $0.append(number) }
    }
    #expect(ending == "it hung up" && handled.withLock { $0 } == Array(0..<100))
  }

  @Test func `an arrival that cannot be handled ends the reading`() async {
    let more = Mailbox<Int>()
    more.post(1)
    await #expect(throws: DeliveryFailure.transient("no")) {
      try await Arrivals.run { post in
        while let number = await more.next() { post(number) }
      } handle: { (_: Int) in
        throw DeliveryFailure.transient("no")
      }
    }
  }
}
