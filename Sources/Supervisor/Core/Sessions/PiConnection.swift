internal import Glibc
package import PiRPC
package import RelayPipes
internal import RelayWire

/// Why a command of ours got no answer from pi.
package enum PiError: Error, Sendable, Equatable, CustomStringConvertible {
  case timedOut(command: String)
  case ended
  case unsendable(String)

  package var description: String {
    switch self {
    case .timedOut(let command): "the agent did not answer \(command) in time"
    case .ended: "the agent has ended"
    case .unsendable(let why): "the agent could not be told: \(why)"
    }
  }
}

/// One life of a pi process: its events as they come, and commands answered by id.
package final class PiConnection: Sendable {
  package enum Incoming: Sendable {
    /// Deltas since the last item, joined.
    case text(String)
    case event(PiEvent)
    /// An answer, for whoever asked: in its place among the events, so that who hears it knows what came before.
    case answer(Answer)
    /// Output has ended; nothing follows.
    case end
  }

  package struct Answer: Sendable {
    let response: PiResponse
    fileprivate let continuation: CheckedContinuation<PiResponse, any Error>

    func deliver() { continuation.resume(returning: response) }
    fileprivate func drop() { continuation.resume(throwing: PiError.ended) }
  }

  private struct State {
    var nextID = 1
    var waiting: [String: (command: String, continuation: CheckedContinuation<PiResponse, any Error>)] = [:]
    /// Ids in the order of sending, for failures that come without one.
    var order: [String] = []
    var ended = false
  }

  package let child: ChildProcess
  package let incoming: Mailbox<Incoming>
  private let text: @Sendable (String) -> Void
  private let outbox: Outbox
  private let clock: any Clock<Duration>
  private let state = Locked(State())
  private let stream: Locked<PiStream>
  private let reader = Locked<LineReader?>(nil)
  private let noise: @Sendable (String) -> Void
  private let lastWords: Locked<[String]>

  /// pi's lines may hold images: far longer than a plugin's.
  static let maximumLineLength = 64 << 20

  /// Starts pi and begins to read.
  ///
  /// - Parameter text: told of deltas straight away while the reader of `incoming` waits, having handled all that came
  ///   before: a delta then need not wake it. Called on the loop's thread.
  package init(
    _ request: ChildProcess.Request, guardian: Guardian?, log: LogFile, wantsToolImages: Bool,
    clock: any Clock<Duration>, text: @escaping @Sendable (String) -> Void
  ) throws {
    let (child, pipes) = try ChildProcess.spawn(request, guardian: guardian)
    self.child = child
    self.clock = clock
    self.text = text
    outbox = Outbox(descriptor: pipes.input, limit: 256 << 20)
    incoming = Mailbox(merge: { last, new in
      guard case .text(let more) = new, case .text(let text) = last else { return false }
      last = .text(text + more)
      return true
    })
    lastWords = Locked([])
    noise = { line in EventLoop.logs.perform { log.write(line) } }
    stream = Locked(PiStream(wantsToolImages: wantsToolImages))
    let reader = LineReader(
      descriptor: pipes.output, maximumLineLength: Self.maximumLineLength, turn: .shared,
      handlers: .init(
        chunk: { [weak self] in self?.take($0, &$1) },
        rest: { [weak self] in self?.takeRest($0) },
        end: { [weak self] in self?.end() }))
    self.reader.withLock { $0 = reader }
    let lastWords = lastWords
    let errors = LineReader(
      descriptor: pipes.error, maximumLineLength: 64 * 1024, loop: .logs,
      handlers: .init(line: { framed in
        switch framed {
        case .line(let bytes), .unfinished(let bytes):
          log.write(bytes)
          let words = String(decoding: bytes.prefix(300), as: UTF8.self)
          lastWords.withLock { $0 = $0.suffix(4) + [words] }
        case .tooLong(let length), .dismissed(let length): log.write("[a line of \(length) bytes was left out]")
        }
      }))
    try errors.start()
    try reader.start()
    child.onExit { _ in
      reader.closeSoon()
      errors.closeSoon()
    }
  }

  /// The last line on standard error, for messages.
  package var lastWord: String? { lastWords.withLock { $0.last } }

  /// Whether pi repeats the whole message in every update (older releases); nil while unknown.
  package var sendsWholeMessages: Bool? { stream.withLock { $0.sendsWholeMessages } }

  /// Nobody listens any more: who waits for an answer is told.
  package func stopListening() {
    incoming.close()
    for case .answer(let answer) in incoming.drain() { answer.drop() }
  }

  // MARK: - Commands

  /// Sends a command and waits for its answer; a refusal is an answer too.
  package func send(_ command: PiCommand, within limit: Duration?) async throws(PiError) -> PiResponse {
    let id = state.withLock { state in
      defer { state.nextID += 1 }
      return "relay-\(state.nextID)"
    }
    do {
      return try await withDeadline(limit, clock: clock) { [self] in
        try await withTaskCancellationHandler {
          try await withCheckedThrowingContinuation { write(command, id, $0) }
        } onCancel: {
          settle(id)?.resume(throwing: PiError.ended)
        }
      }
    } catch let error as PiError {
      throw error
    } catch is DeadlineExceeded {
      throw .timedOut(command: command.name)
    } catch {
      throw .ended
    }
  }

  private func write(
    _ command: PiCommand, _ id: String, _ continuation: CheckedContinuation<PiResponse, any Error>
  ) {
    let registered = state.withLock { state in
      guard !state.ended else { return false }
      state.waiting[id] = (command.name, continuation)
      state.order.append(id)
      return true
    }
    guard registered else {
      continuation.resume(throwing: PiError.ended)
      return
    }
    do {
      try outbox.send(command.line(id: id))
    } catch {
      settle(id)?.resume(throwing: PiError.unsendable("\(error)"))
    }
  }

  private func settle(_ id: String) -> CheckedContinuation<PiResponse, any Error>? {
    state.withLock { Self.settle(id, &$0) }
  }

  private static func settle(_ id: String, _ state: inout State) -> CheckedContinuation<PiResponse, any Error>? {
    guard let waiting = state.waiting.removeValue(forKey: id) else { return nil }
    state.order.removeAll { $0 == id }
    return waiting.continuation
  }

  /// Answers a dialog. Nothing comes back.
  package func answer(_ dialog: String, _ answer: PiDialogAnswer) throws(PiError) {
    do {
      try outbox.send(answer.line(id: dialog))
    } catch {
      throw .unsendable("\(error)")
    }
  }

  /// Ends pi: end of input first, which it obeys within a moment when idle.
  @discardableResult
  package func stop(grace: Duration = .seconds(3)) async -> ChildExit {
    outbox.finish()
    let exit = await child.tearDown([.wait(grace), .terminate(then: .seconds(2))], clock: clock)
    reader.withLock { $0 }?.close()
    return exit
  }

  // MARK: - Only on the loop's thread

  private func take(_ chunk: UnsafeRawBufferPointer, _ framer: inout LineFramer) {
    for item in stream.withLock({ $0.read(chunk, with: &framer) }) {
      switch item {
      case .text(let more): if incoming.isAwaited { text(more) } else { incoming.post(.text(more)) }
      case .event(let event): take(event)
      case .tooLong(let length): noise("[a line of \(length) bytes from the agent was skipped]")
      }
    }
  }

  private func takeRest(_ framed: FramedLine) {
    guard case .unfinished(let bytes) = framed else { return }
    noise("[the agent's output ended in the middle of a line, \(bytes.count) bytes]")
  }

  private func take(_ event: PiEvent) {
    switch event {
    case .response(let response):
      if let waiter = waiter(for: response) {
        let isTaken = incoming.post(.answer(Answer(response: response, continuation: waiter)))
        if !isTaken { waiter.resume(throwing: PiError.ended) }
      } else {
        // A second answer to the same prompt is how older releases reject one.
        incoming.post(.event(event))
      }
    case .noise(let beginning): noise("[not an event] \(beginning)")
    default: incoming.post(.event(event))
    }
  }

  private func waiter(for response: PiResponse) -> CheckedContinuation<PiResponse, any Error>? {
    state.withLock { state in
      if let id = response.id { return Self.settle(id, &state) }
      // Older releases answer an unknown command, and any command whose handler threw, without its id.
      let match = state.order.first { id in
        response.command == "parse" || response.command == nil || state.waiting[id]?.command == response.command
      }
      return match.flatMap { Self.settle($0, &state) }
    }
  }

  private func end() {
    let waiting = state.withLock { state in
      state.ended = true
      defer {
        state.waiting = [:]
        state.order = []
      }
      return state.waiting.values.map(\.continuation)
    }
    outbox.abandon()
    incoming.post(.end)
    incoming.close()
    for waiter in waiting { waiter.resume(throwing: PiError.ended) }
  }
}
