import CLinux
import Glibc
package import RelayWire

/// Reads lines from a descriptor that it owns, without ever holding back: what arrives is delivered at once.
package final class LineReader: Sendable {
  /// The handlers run on the loop's thread, in order; the bytes they see are valid only during the call.
  package struct Handlers: Sendable {
    /// What one read brought, to be put through the framer.
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

    /// One call for each line.
    package init(line: @escaping @Sendable (FramedLine) -> Void, end: @escaping @Sendable () -> Void = {}) {
      self.init(chunk: { chunk, framer in framer.feed(chunk, deliver: line) }, rest: line, end: end)
    }
  }

  private struct State {
    var framer: LineFramer
    var descriptor: Int32
    var token: EventLoop.Token?
  }

  private let loop: EventLoop
  private let handlers: Handlers
  private let state: Locked<State>

  package init(
    descriptor: Int32, maximumLineLength: Int, loop: EventLoop = .shared, handlers: Handlers
  ) {
    self.loop = loop
    self.handlers = handlers
    state = Locked(State(framer: LineFramer(maximumLineLength: maximumLineLength), descriptor: descriptor))
  }

  /// Begins to read. The reader stays alive until the stream ends or `close` is called.
  package func start() throws(SystemError) {
    let descriptor = state.withLock { $0.descriptor }
    let code = relay_set_nonblocking(descriptor)
    if code != 0 { throw SystemError("fcntl", code: code) }
    relay_enlarge_pipe(descriptor, Int32(EventLoop.chunkSize))
    // Under the lock: the first callback may find the end at once, and needs the token to stop the watch.
    try state.withLock { state throws(SystemError) in
      state.token = try loop.watch(descriptor, .read) { [self] buffer in readOnce(buffer) }
    }
  }

  /// Stops reading; `end` is called unless it was already.
  package func close() {
    loop.perform { [self] in finish() }
  }

  /// Stops reading once what has been written already is read. For a writer that has ended: someone who inherited
  /// its end of the pipe may hold it open for ever.
  package func closeSoon() {
    loop.perform { [self] in
      let isReady = state.withLock { state in
        guard state.descriptor >= 0 else { return false }
        var ready = pollfd(fd: state.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, 0) > 0 && ready.revents & Int16(POLLIN) != 0
      }
      // Behind the reads that are due now; each takes what is there.
      if isReady { closeSoon() } else { finish() }
    }
  }

  /// Only on the loop's thread.
  private func readOnce(_ buffer: UnsafeMutableRawBufferPointer) {
    let descriptor = state.withLock { $0.descriptor }
    guard descriptor >= 0 else { return }
    let count = read(descriptor, buffer.baseAddress, buffer.count)
    if count > 0 {
      let chunk = UnsafeRawBufferPointer(start: buffer.baseAddress, count: count)
      state.withLock { handlers.chunk(chunk, &$0.framer) }
    } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
      finish()
    }
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
    if let token { loop.close(token, descriptor) } else { _ = Glibc.close(descriptor) }
    handlers.end()
  }
}
