import CLinux
import Glibc
package import RelayConcurrency
package import RelayJSON

/// Reads lines from a descriptor that it owns, and delivers them at once.
package final class LineReader: Sendable {
  /// The handlers run on the loop's thread, in order; the bytes they see are valid only during the call.
  package struct Handlers: Sendable {
    /// Puts the bytes of one read through the framer.
    package var chunk: @Sendable (UnsafeRawBufferPointer, inout LineFramer) -> Void
    /// The rest of a stream that ended in the middle of a line.
    package var rest: @Sendable (FramedLine) -> Void
    /// The stream has ended and the descriptor is closed. Called once.
    package var end: @Sendable () -> Void

    package init(
      chunk: @escaping @Sendable (UnsafeRawBufferPointer, inout LineFramer) -> Void,
      rest: @escaping @Sendable (FramedLine) -> Void, end: @escaping @Sendable () -> Void = {}
    ) {
      self.chunk = chunk
      self.rest = rest
      self.end = end
    }

    /// Calls `line` once for each line.
    package init(line: @escaping @Sendable (FramedLine) -> Void, end: @escaping @Sendable () -> Void = {}) {
      self.init(chunk: { chunk, framer in framer.feed(chunk, deliver: line) }, rest: line, end: end)
    }
  }

  private struct State {
    var framer: LineFramer
    var descriptor: Int32
    var token: EventLoop.Token?
    /// Waits for the permit to gather a long line; unread bytes stay in the pipe.
    var isPaused = false
    /// Another process is about to continue reading.
    var isHeld = false
  }

  private let loop: EventLoop
  private let handlers: Handlers
  private let state: Locked<State>
  private let permit: LongLinePermit?
  private let held: [UInt8]

  /// - Parameters:
  ///   - held: the beginning of a line that another reader of the descriptor has read.
  ///   - permit: shared with other readers, so that only one of them gathers a long line.
  package init(
    descriptor: Int32, maximumLineLength: Int, held: [UInt8] = [], loop: EventLoop = .shared,
    permit: LongLinePermit? = nil, handlers: Handlers
  ) {
    self.held = held
    self.loop = loop
    self.permit = permit
    self.handlers = handlers
    state = Locked(State(framer: LineFramer(maximumLineLength: maximumLineLength), descriptor: descriptor))
  }

  /// Begins to read. The reader stays alive until the stream ends or `close` is called.
  package func start() throws(SystemError) {
    let descriptor = state.withLock { $0.descriptor }
    // Ended before it began, as with a child that died at once: `end` has been called.
    guard descriptor >= 0 else { return }
    let code = relay_set_nonblocking(descriptor)
    if code != 0 { throw SystemError("fcntl", code: code) }
    relay_enlarge_pipe(descriptor, Int32(EventLoop.chunkSize))
    // Under the lock: the first callback may find the end at once, and needs the token to stop the watch.
    try state.withLock { state throws(SystemError) in
      held.withUnsafeBytes { handlers.chunk($0, &state.framer) }
      state.token = try loop.watch(descriptor, .read) { [self] buffer in readOnce(buffer) }
    }
  }

  /// Longest beginning of a line that is handed over.
  private static let maximumHeld = 1 << 20

  /// Stops reading until `resume`, so that another process can continue. Nothing is delivered after it returns.
  ///
  /// - Returns: the descriptor and the beginning of an unfinished line; `nil` when the reader cannot stop now.
  package func hold() async -> (descriptor: Int32, held: [UInt8])? {
    await withCheckedContinuation { continuation in
      loop.perform { [self] in
        continuation.resume(
          returning: state.withLock { state in
            guard state.descriptor >= 0, let token = state.token, !state.isPaused else { return nil }
            guard let held = state.framer.unfinishedLine, held.count <= Self.maximumHeld else { return nil }
            loop.change(token, state.descriptor, to: [])
            state.isHeld = true
            return (state.descriptor, held)
          })
      }
    }
  }

  /// Continues reading after `hold`, also after a `nil`.
  package func resume() {
    loop.perform { [self] in
      state.withLock { state in
        guard state.isHeld else { return }
        state.isHeld = false
        if let token = state.token, state.descriptor >= 0 { loop.change(token, state.descriptor, to: .read) }
      }
    }
  }

  /// Leaves what comes in the pipe until `continueReading`: the receiver of the lines has enough of them. Called from a
  /// handler, it holds from the next read on. Not for a reader with a permit, which pauses it as well.
  package func pause() {
    loop.perform { [self] in
      state.withLock { state in
        state.isPaused = true
        if let token = state.token, state.descriptor >= 0 { loop.change(token, state.descriptor, to: []) }
      }
    }
  }

  /// Stops reading; `end` is called unless it was already.
  package func close() {
    loop.perform { [self] in finish() }
  }

  /// Stops reading once the present content of the pipe is read. For a writer that has exited: a process that inherited
  /// its end of the pipe may hold it open without limit.
  package func closeAfterDraining() {
    loop.perform { [self] in
      let isReady = state.withLock { state in
        guard state.descriptor >= 0 else { return false }
        var ready = pollfd(fd: state.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, 0) > 0 && ready.revents & Int16(POLLIN) != 0
      }
      // Behind the reads that are due now; each takes what is there.
      if isReady { closeAfterDraining() } else { finish() }
    }
  }

  /// Only on the loop's thread.
  private func readOnce(_ buffer: UnsafeMutableRawBufferPointer) {
    let (descriptor, isHeld) = state.withLock { ($0.descriptor, $0.isHeld) }
    guard descriptor >= 0, !isHeld, mayRead() else { return }
    let count = read(descriptor, buffer.baseAddress, buffer.count)
    if count > 0 {
      let chunk = UnsafeRawBufferPointer(start: buffer.baseAddress, count: count)
      let (before, after) = state.withLock { state in
        let before = state.framer.heldBytes
        handlers.chunk(chunk, &state.framer)
        return (before, state.framer.heldBytes)
      }
      if before > LongLinePermit.freeLength, after <= LongLinePermit.freeLength { permit?.release(self) }
    } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
      finish()
    }
  }

  /// Only on the loop's thread. False while another reader gathers a long line and this one would, too.
  private func mayRead() -> Bool {
    guard let permit else { return true }
    let (isLong, isPaused) = state.withLock { ($0.framer.heldBytes > LongLinePermit.freeLength, $0.isPaused) }
    // Called although it is paused: the writer is gone, and no more comes than the pipe holds.
    if !isLong || isPaused || permit.acquire(self) { return true }
    state.withLock { state in
      state.isPaused = true
      if let token = state.token { loop.change(token, state.descriptor, to: []) }
    }
    return false
  }

  /// Only on the loop's thread.
  private func finish() {
    let ended: (Int32, EventLoop.Token?)? = state.withLock { state in
      guard state.descriptor >= 0 else { return nil }
      state.framer.finish(deliver: handlers.rest)
      defer { state.descriptor = -1 }
      return (state.descriptor, state.token)
    }
    guard let (descriptor, token) = ended else { return }
    permit?.release(self)
    if let token { loop.close(token, descriptor) } else { _ = Glibc.close(descriptor) }
    handlers.end()
  }
}

extension LineReader: LongLinePermit.Reader {
  package func continueReading() {
    loop.perform { [self] in
      state.withLock { state in
        state.isPaused = false
        if let token = state.token, state.descriptor >= 0 { loop.change(token, state.descriptor, to: .read) }
      }
    }
  }

  func loseLine() {
    loop.perform { [self] in state.withLock { $0.framer.skipLine() } }
  }
}
