import Glibc
package import RelayConcurrency
internal import RelayJSON
package import RelayWire
import Synchronization

/// A JSON-RPC connection over a pair of descriptors: requests in both directions, answers matched by id.
///
/// Incoming requests arrive on `requests` in order, at most `ProtocolLimits` of them unanswered; more are answered
/// `busy` at once. Every line counts as a sign of life.
package final class JSONRPCConnection: Sendable {
  /// A line that is not part of the protocol: for the log.
  package enum ProtocolViolation: Sendable, Equatable {
    case notProtocol(beginning: String)
    case tooLong(bytes: Int)
    case unfinished(bytes: Int)
    case unknownAnswer(RequestID?)
    case ignoredNotification(String)
  }

  /// Taken out of the state, under its lock, before it is resumed, and so resumed once.
  private struct Waiter {
    let method: String
    let continuation: UnsafeContinuation<[UInt8], any Error>
  }

  private struct State {
    var outgoing = OutgoingRequests<Waiter>()
    var incoming = IncomingRequests()
    var ended = false
    /// Another program is about to continue with the connection: no request is sent any more.
    var isHeld = false
  }

  package let requests: AsyncStream<IncomingRequest>
  /// When the last line came, in nanoseconds of `now`.
  private let heard = Atomic<Int64>(0)
  private let now: @Sendable () -> Duration
  private let incoming: AsyncStream<IncomingRequest>.Continuation
  private let state = Locked(State())
  private let outbox: Outbox
  private let limits: TimeLimits<Int64>
  private let violation: @Sendable (ProtocolViolation) -> Void
  private let notified: (@Sendable (String, [UInt8]) -> Void)?
  private let answersUnreadable: Bool
  private let reader: Locked<LineReader?> = Locked(nil)

  /// Takes over both descriptors.
  ///
  /// - Parameters:
  ///   - answersUnreadable: answers a line that is too long, or none of the protocol, with an error without an id.
  ///   - notified: takes the method and the line of a notification; called on the loop's thread. Without it none is
  ///     expected.
  package init(
    input: Int32, output: Int32, clock: any Clock<Duration> = LoopClock.shared,
    maximumLineLength: Int = ProtocolLimits.maximumLineLength, held: [UInt8] = [], nextID: Int64 = 1,
    answersUnreadable: Bool = false, notified: (@Sendable (String, [UInt8]) -> Void)? = nil,
    violation: @escaping @Sendable (ProtocolViolation) -> Void = { _ in }
  ) {
    now = clock.reading
    self.violation = violation
    self.notified = notified
    self.answersUnreadable = answersUnreadable
    let state = state
    state.withLock { $0.outgoing = OutgoingRequests(nextID: nextID) }
    limits = TimeLimits(clock: clock) { id in
      let waiter = state.withLock { $0.outgoing.takeWaiter(id) }
      if let waiter { waiter.continuation.resume(throwing: ConnectionError.timedOut(method: waiter.method)) }
    }
    outbox = Outbox(descriptor: output, limit: ProtocolLimits.maximumBytesInFlight)
    (requests, incoming) = AsyncStream.makeStream()
    let reader = LineReader(
      descriptor: input, maximumLineLength: maximumLineLength, held: held,
      handlers: .init(
        line: { [weak self] in self?.takeFramed($0) },
        end: { [weak self] in self?.readerEnded() }))
    self.reader.withLock { $0 = reader }
  }

  /// A connection between two requests, for another process to continue with.
  package struct Snapshot: Codable, Sendable {
    package var input: Int32
    package var output: Int32
    package var nextID: Int64
    package var held: [UInt8]
  }

  /// Continues with a connection that another process has held.
  package convenience init(
    _ snapshot: Snapshot, clock: any Clock<Duration>, violation: @escaping @Sendable (ProtocolViolation) -> Void
  ) {
    self.init(
      input: snapshot.input, output: snapshot.output, clock: clock, held: snapshot.held, nextID: snapshot.nextID,
      violation: violation)
  }

  /// Stops reading until `resume`.
  ///
  /// - Returns: `nil` while a request of either side is open, or output waits to be written.
  package func hold() async -> Snapshot? {
    guard let reader = reader.withLock({ $0 }), let (input, held) = await reader.hold(),
      let output = outbox.idleDescriptor
    else { return nil }
    return state.withLock { state in
      guard !state.ended, state.outgoing.isEmpty, state.incoming.isEmpty else { return nil }
      state.isHeld = true
      // Far from what this program may have asked last: a late answer must not be taken for another's.
      return Snapshot(input: input, output: output, nextID: state.outgoing.nextID + Self.idsSkipped, held: held)
    }
  }

  /// Gives the connection to another protocol, and ends without closing it for the other side.
  ///
  /// - Returns: descriptors that the caller owns, and the beginning of what comes next; `nil` while a request of either side is
  ///   open, or output waits to be written.
  package func handOver() async -> (input: Int32, output: Int32, held: [UInt8])? {
    guard let held = await hold() else {
      resume()
      return nil
    }
    defer { close() }
    let input = fcntl(held.input, F_DUPFD_CLOEXEC, 3)
    let output = fcntl(held.output, F_DUPFD_CLOEXEC, 3)
    guard input >= 0, output >= 0 else {
      for descriptor in [input, output] where descriptor >= 0 { _ = Glibc.close(descriptor) }
      return nil
    }
    return (input, output, held.held)
  }

  package static let idsSkipped: Int64 = 1_000_000

  package func resume() {
    state.withLock { $0.isHeld = false }
    reader.withLock { $0 }?.resume()
  }

  /// Begins to read. `requests` ends when the connection does.
  package func start() throws(SystemError) {
    markHeard()
    try reader.withLock { $0 }?.start()
  }

  /// How long ago the last line arrived.
  package var silence: Duration {
    now() - .nanoseconds(heard.load(ordering: .relaxed))
  }

  /// Indicates that the other side has requests of ours to answer.
  package var awaitsAnswers: Bool { state.withLock { !$0.outgoing.isEmpty } }

  /// The other side is gone.
  package var hasEnded: Bool { state.withLock { $0.ended } }

  /// Sends a request and waits for its answer.
  package func request<Request: WireRequest>(
    _ request: Request, within limit: Duration?, isolation: isolated (any Actor)? = #isolation
  ) async throws(ConnectionError) -> Request.Reply {
    let answer = try await roundTrip(request, within: limit, isolation: isolation)
    do {
      return try JSONCoding.decode(ResultOf<Request.Reply>.self, from: answer).result
    } catch {
      throw .unreadable(method: Request.method, "\(JSONCoding.explain(error)); expected \(Request.replyForm)")
    }
  }

  private func roundTrip<Request: WireRequest>(
    _ request: Request, within limit: Duration?, isolation: isolated (any Actor)?
  ) async throws(ConnectionError) -> [UInt8] {
    let id = state.withLock { $0.outgoing.makeID() }
    do {
      return try await withTaskCancellationHandler {
        // Named, so that the closure is the caller's too: otherwise each wait is a detour over another thread.
        _ = isolation
        return try await withUnsafeThrowingContinuation { send(id, request, within: limit, $0) }
      } onCancel: {
        abandon(id)
      }
    } catch let error as ConnectionError {
      throw error
    } catch {
      throw .closed
    }
  }

  private func send<Request: WireRequest>(
    _ id: Int64, _ request: Request, within limit: Duration?, _ continuation: UnsafeContinuation<[UInt8], any Error>
  ) {
    let line: [UInt8]
    do {
      line = try request.line(id: id)
    } catch {
      continuation.resume(throwing: ConnectionError.notSent("\(error)"))
      return
    }
    let refusal: ConnectionError? = state.withLock { state in
      if state.outgoing.wasAbandoned(id) { return .closed }
      if state.ended { return .notSent("the connection has ended") }
      if state.isHeld { return .notSent("pi-relayd is being upgraded") }
      state.outgoing.add(id, Waiter(method: Request.method, continuation: continuation))
      return nil
    }
    if let refusal {
      continuation.resume(throwing: refusal)
      return
    }
    if let limit { limits.add(id, within: limit) }
    do {
      try outbox.send(line)
    } catch {
      let why = error == .full ? "the other side does not read" : "the connection has ended"
      takeWaiter(id)?.resume(throwing: ConnectionError.notSent(why))
    }
  }

  /// Sends a request without an id, which the other side must ignore: a check of a plugin does so.
  package func notify(_ method: String) throws(Outbox.SendError) {
    try outbox.send(Array(#"{"jsonrpc":"2.0","method":"\#(method)","params":{}}"#.utf8) + [0x0A])
  }

  /// Sends a notification, which has no answer.
  package func notify(_ method: String, _ params: some Encodable) throws {
    try outbox.send(JSONCoding.encode(NotificationLine(method: method, params: params)) + [0x0A])
  }

  /// Bytes that the other side has not read yet.
  package var unreadBytes: Int { outbox.waitingBytes }

  /// The waiter no longer waits.
  private func abandon(_ id: Int64) {
    limits.remove(id)
    let waiter = state.withLock { $0.outgoing.abandon(id) }
    waiter?.continuation.resume(throwing: ConnectionError.closed)
  }

  private func takeWaiter(_ id: Int64) -> UnsafeContinuation<[UInt8], any Error>? {
    limits.remove(id)
    return state.withLock { $0.outgoing.takeWaiter(id) }?.continuation
  }

  /// Ends our side after what was sent is written; the other side sees end of file.
  package func finish() {
    outbox.finish()
  }

  /// Ends the connection now.
  package func close() {
    outbox.abandon()
    reader.withLock { $0 }?.close()
  }

  /// Ends the connection once what has arrived is read.
  package func closeAfterDraining() {
    reader.withLock { $0 }?.closeAfterDraining()
  }

  // MARK: - Only on the loop's thread

  private func markHeard() {
    let (seconds, attoseconds) = now().components
    heard.store(seconds * 1_000_000_000 + attoseconds / 1_000_000_000, ordering: .relaxed)
  }

  private func takeFramed(_ framed: FramedLine) {
    markHeard()
    switch framed {
    case .line(let bytes): takeLine(bytes)
    case .tooLong(let length), .dismissed(let length):
      violation(.tooLong(bytes: length))
      refuseUnreadable(WireError(.invalidRequest, "a line of \(ByteCount(length)) is too long"))
    case .unfinished(let bytes): violation(.unfinished(bytes: bytes.count))
    }
  }

  private func takeLine(_ bytes: UnsafeRawBufferPointer) {
    guard let envelope = Envelope(bytes) else {
      violation(.notProtocol(beginning: String(decoding: bytes.prefix(200), as: UTF8.self)))
      return refuseUnreadable(WireError(.parseError, "the line is no JSON-RPC message"))
    }
    switch envelope.kind {
    case .request(let id, let method): takeRequest(id, method, bytes)
    case .notification(let method):
      if let notified { notified(method, Array(bytes)) } else { violation(.ignoredNotification(method)) }
    case .result(let id):
      if let waiter = waiter(for: id) { waiter.resume(returning: Array(bytes)) }
    case .failure(let id):
      guard let waiter = waiter(for: id) else { return }
      let refusal: WireError
      do {
        refusal = try JSONCoding.decode(ErrorOf.self, from: bytes).error
      } catch {
        let why = "\(JSONCoding.explain(error)); expected {code: integer, message: string, data?: any}"
        refusal = WireError(.internalError, "an error that cannot be understood: \(why)")
      }
      waiter.resume(throwing: ConnectionError.refused(refusal))
    }
  }

  private func waiter(for id: RequestID?) -> UnsafeContinuation<[UInt8], any Error>? {
    if case .integer(let number)? = id, let waiter = takeWaiter(number) { return waiter }
    // A late answer to a request that was given up, or a second answer: neither may end the connection.
    violation(.unknownAnswer(id))
    return nil
  }

  private func takeRequest(_ id: RequestID, _ method: String, _ bytes: UnsafeRawBufferPointer) {
    let refusal = state.withLock { $0.incoming.admit(id, bytes: bytes.count) }
    if let refusal {
      write(FailureLine(id: id, error: refusal), for: id)
      return
    }
    incoming.yield(IncomingRequest(id: id, method: method, line: Array(bytes), peer: self))
  }

  private func readerEnded() {
    incoming.finish()
    let waiting = state.withLock { state in
      state.ended = true
      return state.outgoing.takeAll()
    }
    limits.cancel()
    outbox.abandon()
    for waiter in waiting { waiter.continuation.resume(throwing: ConnectionError.closed) }
  }

  // MARK: - Answers

  func answer(_ id: RequestID, _ line: some Encodable) {
    state.withLock { $0.incoming.answered(id) }
    write(line, for: id)
  }

  private func refuseUnreadable(_ error: WireError) {
    guard answersUnreadable else { return }
    // As with answers: where the connection has ended, its reader says so.
    if let line = try? JSONCoding.encode(FailureLine(id: nil, error: error)) { try? outbox.send(line + [0x0A]) }
  }

  private func write(_ line: some Encodable, for id: RequestID) {
    let bytes: [UInt8]
    do {
      bytes = try JSONCoding.encode(line) + [0x0A]
    } catch {
      return write(
        FailureLine(id: id, error: WireError(.internalError, "the answer cannot be written as JSON")), for: id)
    }
    // An answer that cannot be delivered has nobody to be reported to: the connection has ended, and its reader says so.
    try? outbox.send(bytes)
  }
}

private struct NotificationLine<Params: Encodable>: Encodable {
  let jsonrpc = "2.0"
  let method: String
  let params: Params
}
