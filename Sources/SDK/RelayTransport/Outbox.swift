import CLinux
import DequeModule
import Glibc
import RelayConcurrency

/// Bytes waiting for one descriptor that it owns. Many senders; each `send` is written whole and in order.
///
/// A send goes straight to the descriptor when nothing waits before it; only what the pipe does not take is queued.
package final class Outbox: Sendable {
  package enum SendError: Error, Equatable {
    /// The other end is gone.
    case closed
    /// More than the limit is waiting: the other end does not read.
    case full
  }

  private struct State {
    var descriptor: Int32
    var token: EventLoop.Token?
    var waiting: Deque<[UInt8]> = []
    /// Bytes of the first waiting item already written.
    var written = 0
    var waitingBytes = 0
    var finishing = false
    var onRelief: Relief?
  }

  private struct Relief {
    let bytes: Int
    let body: @Sendable () -> Void
  }

  private let loop: EventLoop
  private let limit: Int
  private let state: Locked<State>

  /// - Parameter limit: bytes that may wait. One item may exceed it when nothing else waits.
  package init(descriptor: Int32, limit: Int, loop: EventLoop = .shared) {
    self.loop = loop
    self.limit = limit
    _ = relay_set_nonblocking(descriptor)
    relay_enlarge_pipe(descriptor, Int32(EventLoop.chunkSize))
    state = Locked(State(descriptor: descriptor))
  }

  deinit {
    state.withLock { state in
      if state.descriptor >= 0, state.token == nil { _ = Glibc.close(state.descriptor) }
    }
  }

  /// The descriptor, while everything sent is written and more can be.
  package var idleDescriptor: Int32? {
    state.withLock { $0.descriptor >= 0 && $0.waiting.isEmpty && !$0.finishing ? $0.descriptor : nil }
  }

  package var waitingBytes: Int { state.withLock { $0.waitingBytes } }

  /// Calls back once, when no more than so many bytes wait or the descriptor is closed. The callback only hands over: it
  /// may not use the outbox.
  package func onRelief(_ bytes: Int, _ body: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.onRelief = Relief(bytes: bytes, body: body)
      relieve(&state)
    }
  }

  private func relieve(_ state: inout State) {
    guard let relief = state.onRelief, state.waitingBytes <= relief.bytes else { return }
    state.onRelief = nil
    relief.body()
  }

  package func send(_ bytes: [UInt8]) throws(SendError) {
    let failure: SendError? = state.withLock { state in
      guard state.descriptor >= 0, !state.finishing else { return .closed }
      // The loop may have had no turn to write: only a try tells whether the other end reads.
      if !state.waiting.isEmpty, state.waitingBytes + bytes.count > limit {
        write(&state)
        if state.waiting.isEmpty { rest(state) }
      }
      guard state.descriptor >= 0 else { return .closed }
      if state.waiting.isEmpty {
        switch Self.write(bytes, from: 0, to: state.descriptor) {
        case .all: return nil
        case .broken:
          closeNow(&state)
          return .closed
        case .some(let count):
          state.written = count
          state.waitingBytes = bytes.count - count
        }
      } else {
        if state.waitingBytes + bytes.count > limit { return .full }
        state.waitingBytes += bytes.count
      }
      state.waiting.append(bytes)
      waitForRoom(&state)
      return nil
    }
    if let failure { throw failure }
  }

  /// Closes the descriptor once everything sent so far is written: the other end reads end of file after it.
  package func finish() {
    state.withLock { state in
      state.finishing = true
      if state.waiting.isEmpty { closeNow(&state) }
    }
  }

  /// Closes now and forgets what waits.
  package func abandon() {
    state.withLock { closeNow(&$0) }
  }

  private enum Progress { case all, some(Int), broken }

  private static func write(_ bytes: [UInt8], from start: Int, to descriptor: Int32) -> Progress {
    bytes.withUnsafeBytes { buffer in
      var done = start
      while done < buffer.count {
        let count = Glibc.write(descriptor, buffer.baseAddress! + done, buffer.count - done)
        if count >= 0 {
          done += count
        } else if errno == EAGAIN {
          return .some(done)
        } else if errno != EINTR {
          return .broken
        }
      }
      return .all
    }
  }

  private func waitForRoom(_ state: inout State) {
    if let token = state.token {
      loop.change(token, state.descriptor, to: .write)
      return
    }
    do {
      state.token = try loop.watch(state.descriptor, .write) { [self] _ in drain() }
    } catch {
      closeNow(&state)
    }
  }

  private func drain() {
    state.withLock { state in
      guard state.descriptor >= 0 else { return }
      guard !state.waiting.isEmpty else {
        // An empty outbox waits for nothing, but epoll tells of an error all the same, and would again and again. Room may
        // have been told of before a `send` wrote all.
        var status = pollfd(fd: state.descriptor, events: 0, revents: 0)
        if poll(&status, 1, 0) > 0 { closeNow(&state) } else { rest(state) }
        return
      }
      write(&state)
      guard state.waiting.isEmpty else { return }
      if state.finishing {
        closeNow(&state)
      } else {
        rest(state)
      }
    }
  }

  private func rest(_ state: State) {
    if let token = state.token { loop.change(token, state.descriptor, to: []) }
  }

  /// Writes as much of what waits as the other end takes.
  private func write(_ state: inout State) {
    defer { relieve(&state) }
    while let first = state.waiting.first {
      let before = state.written
      switch Self.write(first, from: before, to: state.descriptor) {
      case .all:
        state.waitingBytes -= first.count - before
        state.waiting.removeFirst()
        state.written = 0
      case .some(let count):
        state.waitingBytes -= count - before
        state.written = count
        return
      case .broken: return closeNow(&state)
      }
    }
  }

  private func closeNow(_ state: inout State) {
    guard state.descriptor >= 0 else { return }
    if let token = state.token {
      loop.close(token, state.descriptor)
    } else {
      _ = Glibc.close(state.descriptor)
    }
    state.descriptor = -1
    state.token = nil
    state.waiting = []
    state.waitingBytes = 0
    relieve(&state)
  }
}
