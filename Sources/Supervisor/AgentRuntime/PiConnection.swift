internal import Glibc
package import PiRPC
package import ProcessSupervision
package import RelayConcurrency
internal import RelayJSON
package import RelayLogging
internal import RelayTransport
internal import RelayWire

/// The connection to one pi process: its events in order, and commands that are answered by id.
package final class PiConnection: Sendable {
  package let process: AgentProcess
  package let incoming: Mailbox<Incoming>
  /// Closed when nothing of this process is left, its own children included: the next one of the session may start.
  package let aftermath = Mailbox<Void>()
  private let text: @Sendable (String) -> Void
  private let outbox: Outbox
  private let clock: any Clock<Duration>
  private let requests: Locked<PendingRequests<CheckedContinuation<PiResponse, any Error>>>
  private let stream: Locked<PiStream>
  private let readers = Locked<(output: LineReader, errors: LineReader?)?>(nil)
  private let noise: @Sendable (String) -> Void
  private let excerpt: Locked<ErrorExcerpt>
  /// Closed when standard error has been read to its end; nil from then on.
  private let waitingForErrors = Locked<[Mailbox<Void>]?>([])
  private let now: @Sendable () -> Duration
  private let output: Locked<(last: Duration, next: (@Sendable () -> Void)?)>
  private let recorder = Locked<(@Sendable ([UInt8]) -> Void)?>(nil)

  /// pi's lines may hold images: far longer than a plugin's.
  static let maximumLineLength = 64 << 20

  /// Starts pi and begins to read.
  ///
  /// - Parameter text: receives deltas at once while the reader of `incoming` waits and has handled all earlier items,
  ///   so that a delta need not wake the reader. Called on the loop's thread.
  package convenience init(
    _ request: ChildProcess.Request, guardian: Guardian?, log: LogFile, wantsToolImages: Bool,
    clock: any Clock<Duration>, text: @escaping @Sendable (String) -> Void
  ) throws {
    let (child, pipes) = try ChildProcess.spawn(request, guardian: guardian)
    self.init(.child(child), pipes, PiStream(wantsToolImages: wantsToolImages), log: log, clock: clock, text: text)
    try start()
  }

  /// Talks to a pi that a person has started, over the two descriptors of its connection, which it takes over. `start` begins
  /// to read.
  ///
  /// - Parameter held: the beginning of a line that another reader of the connection has read.
  package convenience init(
    attached process: AttachedProcess, input: Int32, output: Int32, held: [UInt8], log: LogFile, wantsToolImages: Bool,
    clock: any Clock<Duration>, text: @escaping @Sendable (String) -> Void
  ) {
    self.init(
      .attached(process), ChildProcess.Pipes(input: input, output: output, error: -1),
      PiStream(wantsToolImages: wantsToolImages), held: held, log: log, clock: clock, text: text)
  }

  /// Continues with a pi process that the predecessor of this process has held. `start` begins to read.
  package convenience init(
    _ handover: Snapshot, guardian: Guardian?, log: LogFile, wantsToolImages: Bool, clock: any Clock<Duration>,
    text: @escaping @Sendable (String) -> Void
  ) throws {
    self.init(
      .child(try ChildProcess.adopt(handover.child, guardian: guardian)),
      ChildProcess.Pipes(input: handover.input, output: handover.output, error: handover.error),
      PiStream(handover.dialect, wantsToolImages: wantsToolImages), held: handover.held,
      heldErrors: handover.heldErrors, nextID: handover.nextID, log: log, clock: clock, text: text)
  }

  private init(
    _ process: AgentProcess, _ pipes: ChildProcess.Pipes, _ stream: PiStream, held: [UInt8] = [],
    heldErrors: [UInt8] = [], nextID: Int = 1, log: LogFile, clock: any Clock<Duration>,
    text: @escaping @Sendable (String) -> Void
  ) {
    self.process = process
    self.clock = clock
    self.text = text
    now = clock.reading
    output = Locked((now(), nil))
    outbox = Outbox(descriptor: pipes.input, limit: 256 << 20)
    incoming = Mailbox(merge: { last, new in
      guard case .text(let more) = new, case .text(let text) = last else { return false }
      last = .text(text + more)
      return true
    })
    excerpt = Locked(ErrorExcerpt())
    noise = { line in EventLoop.logs.perform { log.write(line) } }
    self.stream = Locked(stream)
    requests = Locked(PendingRequests(nextID: nextID))
    let excerpt = excerpt
    let reader = LineReader(
      descriptor: pipes.output, maximumLineLength: Self.maximumLineLength, held: held, permit: .shared,
      handlers: .init(
        chunk: { [weak self] in self?.take($0, &$1) },
        rest: { [weak self] in self?.takeRest($0) },
        end: { [weak self] in self?.end() }))
    guard pipes.error >= 0 else {
      waitingForErrors.withLock { $0 = nil }
      readers.withLock { $0 = (reader, nil) }
      return
    }
    let errors = LineReader(
      descriptor: pipes.error, maximumLineLength: 64 * 1024, held: heldErrors, loop: .logs,
      handlers: .init(
        line: { framed in
          switch framed {
          case .line(let bytes), .unfinished(let bytes):
            log.write(bytes)
            let line = String(decoding: bytes.prefix(1_000), as: UTF8.self)
            excerpt.withLock { $0.append(line) }
          case .tooLong(let length), .dismissed(let length): log.write("[a line of \(ByteCount(length)) was left out]")
          }
        },
        end: { [waitingForErrors] in
          let waiting = waitingForErrors.withLock { waiting in
            defer { waiting = nil }
            return waiting ?? []
          }
          for mailbox in waiting { mailbox.close() }
        }))
    readers.withLock { $0 = (reader, errors) }
  }

  /// Begins to read.
  package func start() throws {
    guard let (reader, errors) = readers.withLock({ $0 }) else { return }
    try errors?.start()
    try reader.start()
    process.onExit { _ in
      reader.closeAfterDraining()
      errors?.closeAfterDraining()
    }
  }

  /// Stops reading until `resume`.
  ///
  /// - Returns: `nil` while a command is unanswered, output waits to be written, or input waits to be handled.
  package func hold() async -> Snapshot? {
    guard let (reader, errors) = readers.withLock({ $0 }), let errors, let child = process.handover, !process.hasEnded,
      let (output, held) = await reader.hold(), let (error, heldErrors) = await errors.hold(),
      let input = outbox.idleDescriptor, let dialect = stream.withLock({ $0.dialect }), incoming.isAwaited
    else { return nil }
    return requests.withLock { requests in
      guard !requests.hasEnded, requests.isEmpty else { return nil }
      return Snapshot(
        child: child, input: input, output: output, error: error, held: held, heldErrors: heldErrors,
        nextID: requests.nextID + Int(JSONRPCConnection.idsSkipped), dialect: dialect)
    }
  }

  package func resume() {
    guard let (reader, errors) = readers.withLock({ $0 }) else { return }
    reader.resume()
    errors?.resume()
  }

  /// True once pi's output has ended. Its exit may be heard of a moment later.
  package var hasEnded: Bool { requests.withLock { $0.hasEnded } }

  /// For how long pi has said nothing by itself.
  package var silence: Duration { output.withLock { now() - $0.last } }

  /// Calls back once, on the loop's thread, when pi next says something by itself.
  package func onNextOutput(_ body: @escaping @Sendable () -> Void) { output.withLock { $0.next = body } }

  /// Passes on the events as pi writes them, from now on: lines, each with its newline. Called on the loop's thread.
  package func record(_ take: @escaping @Sendable ([UInt8]) -> Void) {
    recorder.withLock { $0 = take }
    stream.withLock { $0.recording = EventRecording() }
  }

  /// Records the updates of growing messages as well, or no longer.
  package func recordUpdates(_ areWanted: Bool) {
    stream.withLock { $0.recording?.includesUpdates = areWanted }
  }

  /// Returns when standard error has been read to its end: the exit may be heard of first. A child of pi may hold it open,
  /// and is not waited for long.
  package func readErrors() async {
    let end = Mailbox<Void>()
    waitingForErrors.withLock { waiting in if waiting == nil { end.close() } else { waiting?.append(end) } }
    do { try await withDeadline(.seconds(1), clock: clock) { _ = await end.next() } } catch {
      noise("[standard error is still open after the agent has exited]")
    }
  }

  /// Why pi did not start, in the words of its standard error.
  package var firstError: String? { excerpt.withLock { $0.firstError } }

  /// Why pi ended, in the words of its standard error.
  package var lastError: String? { excerpt.withLock { $0.lastError } }

  /// Older releases of pi repeat the whole message in every update; `nil` while it is unknown which this is.
  package var sendsWholeMessages: Bool? { stream.withLock { $0.sendsWholeMessages } }

  /// Stops delivering: everybody who waits for an answer gets an error.
  package func stopListening() {
    incoming.close()
    for case .answer(let answer) in incoming.drain() { answer.drop() }
  }

  // MARK: - Commands

  /// Sends a command and waits for its answer; a refusal is an answer too.
  package func send(_ command: PiCommand, within limit: Duration?) async throws(PiError) -> PiResponse {
    let id = requests.withLock { $0.makeID() }
    do {
      return try await withDeadline(limit, clock: clock) { [self] in
        try await withTaskCancellationHandler {
          try await withCheckedThrowingContinuation { write(command, id, $0) }
        } onCancel: {
          requests.withLock { $0.take(id) }?.resume(throwing: PiError.ended)
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
    guard requests.withLock({ $0.add(id, command: command.name, continuation) }) else {
      continuation.resume(throwing: PiError.ended)
      return
    }
    do {
      try outbox.send(command.line(id: id))
    } catch {
      requests.withLock { $0.take(id) }?.resume(throwing: PiError.unsendable("\(error)"))
    }
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
  package func stop(grace: Duration = .seconds(3)) async -> TerminationStatus {
    outbox.finish()
    let output = readers.withLock { $0 }?.output
    // A person's own pi stays: only the connection ends.
    if case .attached = process { output?.close() }
    let exit = await process.tearDown([.wait(grace), .terminate(then: .seconds(2))], clock: clock)
    output?.close()
    return exit
  }

  /// Ends a pi that does not do what it should: at once, without a word.
  package func kill() {
    switch process {
    case .child(let child): child.signal(SIGKILL)
    case .attached: readers.withLock { $0 }?.output.close()
    }
  }

  // MARK: - Only on the loop's thread

  private func take(_ chunk: UnsafeRawBufferPointer, _ framer: inout LineFramer) {
    let (items, recorded) = stream.withLock { ($0.read(chunk, with: &framer), $0.takeRecorded()) }
    pass(recorded)
    take(items)
  }

  private func pass(_ recorded: [UInt8]) {
    if !recorded.isEmpty { recorder.withLock { $0 }?(recorded) }
  }

  /// Notes that pi has said something by itself: the answer to a command of ours says nothing of its work.
  private func noteOutput() {
    let next = output.withLock { output in
      defer { output = (now(), nil) }
      return output.next
    }
    next?()
  }

  private func take(_ items: [PiStream.Item]) {
    for item in items {
      switch item {
      case .text(let more):
        noteOutput()
        if incoming.isAwaited { text(more) } else { incoming.post(.text(more)) }
      case .event(let event): take(event)
      case .tooLong(let length): noise("[a line of \(ByteCount(length)) from the agent was skipped]")
      }
    }
  }

  private func takeRest(_ framed: FramedLine) {
    guard case .unfinished(let bytes) = framed else { return }
    noise("[the agent's output ended without a newline, after \(ByteCount(bytes.count)) of a line]")
    let (items, recorded) = stream.withLock { ($0.readUnfinished(bytes), $0.takeRecorded()) }
    pass(recorded)
    take(items)
  }

  private func take(_ event: PiEvent) {
    switch event {
    case .response(let response):
      if let waiter = requests.withLock({ $0.take(answeredBy: response) }) {
        let isTaken = incoming.post(.answer(Answer(response: response, continuation: waiter)))
        if !isTaken { waiter.resume(throwing: PiError.ended) }
      } else {
        noteOutput()
        // A second answer to the same prompt is how older releases reject one.
        incoming.post(.event(event))
      }
    case .noise(let beginning):
      noteOutput()
      noise("[not an event] \(beginning)")
    default:
      noteOutput()
      incoming.post(.event(event))
    }
  }

  private func end() {
    let waiting = requests.withLock { $0.end() }
    outbox.abandon()
    if case .attached(let process) = process { process.noteEnd() }
    incoming.post(.end)
    incoming.close()
    for waiter in waiting { waiter.resume(throwing: PiError.ended) }
  }
}
