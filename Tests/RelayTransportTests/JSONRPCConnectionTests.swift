import CLinux
import Dispatch
import Glibc
import RelayConcurrency
import RelayJSON
import RelayTransport
import RelayWire
import Synchronization
import Testing

/// Two peers joined by two pipes.
private func joined(
  clock: any Clock<Duration> = SuspendingClock(),
  violation: @escaping @Sendable (JSONRPCConnection.ProtocolViolation) -> Void = { _ in }
) throws -> (JSONRPCConnection, JSONRPCConnection) {
  let forth = try pipe()
  let back = try pipe()
  let left = JSONRPCConnection(input: back.read, output: forth.write, clock: clock, violation: violation)
  let right = JSONRPCConnection(input: forth.read, output: back.write)
  try left.start()
  try right.start()
  return (left, right)
}

func pipe() throws -> (read: Int32, write: Int32) {
  var ends: [Int32] = [0, 0]
  let code = relay_pipe(&ends)
  if code != 0 { throw SystemError("pipe", code: code) }
  return (ends[0], ends[1])
}

/// A peer and the raw other side of its pipes.
private struct RawSide {
  let peer: JSONRPCConnection
  let output: Int32
  private let lines: AsyncStream<String>
  let violations = Locked<[JSONRPCConnection.ProtocolViolation]>([])

  init(clock: any Clock<Duration> = SuspendingClock()) throws {
    let toPeer = try pipe()
    let fromPeer = try pipe()
    let violations = violations
    peer = JSONRPCConnection(
      input: toPeer.read, output: fromPeer.write, clock: clock,
      violation: { violation in violations.withLock { $0.append(violation) }
      })
    output = toPeer.write
    let (lines, arrival) = AsyncStream<String>.makeStream()
    self.lines = lines
    let reader = LineReader(
      descriptor: fromPeer.read, maximumLineLength: 1 << 20,
      handlers: .init(
        line: { if case .line(let bytes) = $0 { arrival.yield(String(decoding: bytes, as: UTF8.self)) } },
        end: { arrival.finish() }))
    try reader.start()
    try peer.start()
  }

  func say(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(write(output, bytes, bytes.count) == bytes.count)
  }

  func hear() async -> String {
    for await line in lines { return line }
    return "<end>"
  }

  func end() {
    _ = close(output)
  }
}

@Suite(.timeLimit(.minutes(1))) struct JSONRPCConnectionTests {
  @Test func `a held connection sends no request, and its successor ignores answers to earlier ones`() async throws {
    let (left, right) = try joined()
    let handover = try #require(await left.hold())
    await #expect(throws: ConnectionError.notSent("pi-relayd is being upgraded")) {
      try await left.request(Ping(), within: .seconds(5))
    }
    // Ids between are of requests that the program before may have sent at the last moment.
    #expect(handover.nextID > 1_000)
    left.resume()
    async let answered = left.request(Ping(), within: .seconds(5))
    for await request in right.requests {
      #expect(await right.hold() == nil, "a request is open")
      right.resume()
      request.reply(Empty())
      break
    }
    _ = try await answered
    left.close()
    right.close()
  }

  @Test func `requests run in both directions and each answer reaches its caller`() async throws {
    let (left, right) = try joined()
    let serving = Task {
      for await request in right.requests {
        let params = try request.params(StateSave.self)
        if params.state == "refuse" {
          request.fail(WireError(.forbidden, "no"))
        } else {
          request.reply(Empty())
        }
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<40 {
        group.addTask { _ = try await left.request(StateSave(state: "x"), within: .seconds(20)) }
      }
      try await group.waitForAll()
    }
    await #expect(throws: ConnectionError.refused(WireError(.forbidden, "no"))) {
      try await left.request(StateSave(state: "refuse"), within: .seconds(20))
    }
    left.close()
    _ = try await serving.value
  }

  @Test func `an answer that cannot be written as JSON is an internal error for the caller`() async throws {
    let (left, right) = try joined()
    let serving = Task { for await request in right.requests { request.reply(["number": Double.infinity]) } }
    await #expect(
      throws: ConnectionError.refused(WireError(.internalError, "the answer cannot be written as JSON"))
    ) { try await left.request(Ping(), within: .seconds(20)) }
    left.close()
    await serving.value
  }

  @Test func `requests arrive in the order they were sent`() async throws {
    let side = try RawSide()
    for id in 1...60 { side.say(#"{"jsonrpc":"2.0","id":\#(id),"method":"m\#(id)","params":{}}"# + "\n") }
    side.end()
    var seen: [String] = []
    for await request in side.peer.requests {
      seen.append(request.method)
      request.reply(Empty())
    }
    #expect(seen == (1...60).map { "m\($0)" })
  }

  @Test func `an unanswered request fails after its time limit`() async throws {
    let (left, right) = try joined()
    await #expect(throws: ConnectionError.timedOut(method: "ping")) {
      try await left.request(Ping(), within: .milliseconds(5))
    }
    _ = right
    left.close()
  }

  @Test func `the end of the connection fails the waiting requests`() async throws {
    let side = try RawSide()
    let answer = Task { try await side.peer.request(Ping(), within: nil) }
    #expect(await side.hear().contains("ping"))
    side.end()
    await #expect(throws: ConnectionError.closed) { try await answer.value }
  }

  @Test func `more unanswered requests than allowed are answered busy`() async throws {
    let side = try RawSide()
    for id in 0...ProtocolLimits.maximumRequestsInFlight { side.say(#"{"id":\#(id),"method":"m"}"# + "\n") }
    let answer = await side.hear()
    #expect(answer.contains(#""id":\#(ProtocolLimits.maximumRequestsInFlight)"#))
    #expect(answer.contains("\(WireError.Code.busy.rawValue)"))
    side.peer.close()
  }

  @Test func `a reused id is refused and the first request still answered`() async throws {
    let side = try RawSide()
    side.say(#"{"id":1,"method":"a"}"# + "\n" + #"{"id":1,"method":"b"}"# + "\n")
    #expect(await side.hear().contains("\(WireError.Code.invalidRequest.rawValue)"))
    var requests = side.peer.requests.makeAsyncIterator()
    let first = try #require(await requests.next())
    #expect(first.method == "a")
    first.reply(Empty())
    #expect(await side.hear().contains("result"))
    side.peer.close()
  }

  @Test func `a second answer and an answer to an unknown id change nothing`() async throws {
    let side = try RawSide()
    async let first: Empty = side.peer.request(Ping(), within: .seconds(20))
    #expect(await side.hear().contains(#""id":1"#))
    side.say(#"{"id":1,"result":{}}"# + "\n" + #"{"id":1,"result":{}}"# + "\n" + #"{"id":"zz","result":1}"# + "\n")
    _ = try await first
    async let second: Empty = side.peer.request(Ping(), within: .seconds(20))
    #expect(await side.hear().contains(#""id":2"#))
    side.say(#"{"id":2,"result":{}}"# + "\n")
    _ = try await second
    #expect(side.violations.withLock { $0 } == [.unknownAnswer(.integer(1)), .unknownAnswer(.string("zz"))])
    side.peer.close()
  }

  @Test func `junk is reported and the next line is still read`() async throws {
    let side = try RawSide()
    side.say("hello\n\u{2028}\n" + #"{"id":1,"method":"a"}"# + "\n{\"half")
    side.end()
    var seen: [String] = []
    for await request in side.peer.requests {
      seen.append(request.method)
      request.reply(Empty())
    }
    #expect(seen == ["a"])
    #expect(
      side.violations.withLock { $0 } == [
        .notProtocol(beginning: "hello"), .notProtocol(beginning: "\u{2028}"), .unfinished(bytes: 6),
      ])
  }

  @Test func `a forgotten request is answered with an error`() async throws {
    let side = try RawSide()
    side.say(#"{"id":1,"method":"a"}"# + "\n")
    var requests = side.peer.requests.makeAsyncIterator()
    _ = await requests.next()
    #expect(await side.hear().contains("\(WireError.Code.internalError.rawValue)"))
    side.peer.close()
  }

  @Test func `missing parameters are named`() async throws {
    let side = try RawSide()
    side.say(#"{"id":1,"method":"message.received","params":{"id":"1","conversation":{"id":"c"}}}"# + "\n")
    var requests = side.peer.requests.makeAsyncIterator()
    let request = try #require(await requests.next())
    #expect(throws: WireError(.invalidParams, "message.received: params.conversation.kind is missing")) {
      try request.params(MessageReceived.self)
    }
    side.peer.close()
  }

  @Test func `cancelling a request ends its wait`() async throws {
    let (left, right) = try joined()
    let waiting = Task { try await left.request(Ping(), within: nil) }
    var requests = right.requests.makeAsyncIterator()
    let request = await requests.next()
    waiting.cancel()
    await #expect(throws: ConnectionError.closed) { try await waiting.value }
    request?.reply(Empty())
    left.close()
  }
}

@Suite(.timeLimit(.minutes(1))) struct OutboxTests {
  @Test func `items of many senders are never mixed`() async throws {
    let ends = try pipe()
    let outbox = Outbox(descriptor: ends.write, limit: 1 << 30)
    let senders = 8
    let each = 200
    let length = 20_000
    await withTaskGroup(of: Void.self) { group in
      for sender in 0..<senders {
        group.addTask {
          let line = [UInt8](repeating: UInt8(ascii: "a") + UInt8(sender), count: length) + [0x0A]
          for _ in 0..<each { try? outbox.send(line) }
        }
      }
    }
    outbox.finish()
    let counts = Locked<[UInt8: Int]>([:])
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      let reader = LineReader(
        descriptor: ends.read, maximumLineLength: 1 << 20,
        handlers: .init(
          line: { framed in
            guard case .line(let bytes) = framed, bytes.count == length, let first = bytes.first,
              bytes.allSatisfy({ $0 == first })
            else {
              Issue.record("a mixed or broken line")
              return
            }
            counts.withLock { $0[first, default: 0] += 1 }
          }, end: { done.resume() }))
      do { try reader.start() } catch { Issue.record("\(error)") }
    }
    #expect(counts.withLock { $0.values.sorted() } == Array(repeating: each, count: senders))
  }

  @Test func `a reader that has stopped is reported as full`() throws {
    let ends = try pipe()
    let outbox = Outbox(descriptor: ends.write, limit: 100_000)
    #expect(throws: Outbox.SendError.full) {
      for _ in 0..<1_000 { try outbox.send([UInt8](repeating: 1, count: 10_000)) }
    }
    #expect(outbox.waitingBytes <= 100_000)
    outbox.abandon()
    _ = close(ends.read)
  }

  @Test func `a send that makes room by itself leaves the connection as it is`() async throws {
    let ends = try pipe()
    let outbox = Outbox(descriptor: ends.write, limit: 100_000, loop: .logs)
    // The loop has no turn until the reader has taken all, and the sender has found that out.
    let turn = DispatchSemaphore(value: 0)
    EventLoop.logs.perform { turn.wait() }
    defer { turn.signal() }
    _ = relay_set_nonblocking(ends.read)
    while outbox.waitingBytes < 50_000 { try outbox.send([UInt8](repeating: 1, count: 10_000)) }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while read(ends.read, &buffer, buffer.count) > 0 {}
    try outbox.send([UInt8](repeating: 2, count: 60_000))
    turn.signal()
    for _ in 0..<3 { await withCheckedContinuation { done in EventLoop.logs.perform { done.resume() } } }
    try outbox.send([3])
    outbox.abandon()
    _ = close(ends.read)
  }

  @Test func `a reader that has gone is reported as closed`() throws {
    signal(SIGPIPE, SIG_IGN)
    let ends = try pipe()
    let outbox = Outbox(descriptor: ends.write, limit: 100_000)
    _ = close(ends.read)
    #expect(throws: Outbox.SendError.closed) { try outbox.send([1]) }
    #expect(throws: Outbox.SendError.closed) { try outbox.send([1]) }
  }

  @Test func `finishing delivers everything and then end of file`() throws {
    let ends = try pipe()
    let outbox = Outbox(descriptor: ends.write, limit: 10 << 20)
    let size = 3 << 20
    try outbox.send([UInt8](repeating: 7, count: size))
    outbox.finish()
    var total = 0
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(ends.read, &buffer, buffer.count)
      if count <= 0 { break }
      total += count
    }
    #expect(total == size)
    _ = close(ends.read)
  }
}
