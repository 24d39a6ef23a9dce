internal import BridgeProtocol
internal import Glibc
internal import RelayConcurrency
internal import RelayJSON
internal import RelayTransport

/// A connected client of one bridge: its requests, in order, and the lines on their way to it.
final class BridgePeer: Sendable {
  enum Arrival: Sendable {
    case command(BridgeCommand, bytes: Int)
    /// A line over the limit, of so many bytes, was skipped.
    case tooLong(Int)
  }

  private struct State {
    var reader: LineReader?
    var isSubscribed = false
    /// Bytes of requests that wait to be answered.
    var waitingBytes = 0
    var isPaused = false
    var isNotReading = false
  }

  /// Bytes of requests that may wait; beyond them, the client's further requests stay in its socket.
  private static let maximumWaitingBytes = 2 << 20

  let arrivals = Mailbox<Arrival>()
  private let outbox: Outbox
  private let stalled: @Sendable (_ unsentBytes: Int) -> Void
  private let state = Locked(State())

  /// Takes over the connection's descriptor.
  ///
  /// - Parameter stalled: called when the client is disconnected because it does not read.
  init(_ descriptor: Int32, limits: BridgeLimits, stalled: @escaping @Sendable (Int) -> Void) throws {
    self.stalled = stalled
    let writer = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard writer >= 0 else {
      let error = SystemError("fcntl")
      _ = Glibc.close(descriptor)
      throw error
    }
    outbox = Outbox(descriptor: writer, limit: limits.maxUnsentBytes, loop: .logs)
    let reader = LineReader(
      descriptor: descriptor, maximumLineLength: limits.maxLineBytes, loop: .logs,
      handlers: .init(
        line: { [weak self] in self?.take($0) }, end: { [arrivals] in arrivals.close() }))
    state.withLock { $0.reader = reader }
  }

  func start() throws { try state.withLock { $0.reader }?.start() }

  // MARK: - Requests

  private func take(_ framed: FramedLine) {
    switch framed {
    case .line(let line):
      guard line.contains(where: { $0 > 0x20 }) else { return }
      let isFull = state.withLock { state in
        state.waitingBytes += line.count
        defer { state.isPaused = state.isPaused || state.waitingBytes > Self.maximumWaitingBytes }
        return !state.isPaused && state.waitingBytes > Self.maximumWaitingBytes
      }
      if isFull { state.withLock { $0.reader }?.pause() }
      arrivals.post(.command(BridgeCommand(line: line), bytes: line.count))
    case .tooLong(let length): arrivals.post(.tooLong(length))
    case .dismissed, .unfinished: break
    }
  }

  /// Notes that a request of so many bytes is answered: the next ones may be read.
  func answered(bytes: Int) {
    let reader: LineReader? = state.withLock { state in
      state.waitingBytes -= bytes
      guard state.isPaused, state.waitingBytes <= Self.maximumWaitingBytes / 2 else { return nil }
      state.isPaused = false
      return state.reader
    }
    reader?.continueReading()
  }

  // MARK: - Lines for the client

  /// Indicates that the client receives events.
  var isSubscribed: Bool { state.withLock { $0.isSubscribed } }

  func subscribe(_ isWanted: Bool) { state.withLock { $0.isSubscribed = isWanted } }

  func send(_ line: [UInt8]) {
    do {
      try outbox.send(line)
    } catch .full {
      stalled(outbox.waitingBytes)
      close()
    } catch {
      close()
    }
  }

  /// Indicates that the client has much to read and reads it. Events may wait for such a client, within limits.
  func isBehind(_ bytes: Int) -> Bool {
    let isBehind = unsentBytes > bytes
    return state.withLock { state in
      if !isBehind { state.isNotReading = false }
      return isBehind && !state.isNotReading
    }
  }

  /// Notes that the client has read nothing for a while: nobody waits for it until it has read.
  func readsNothing() { state.withLock { $0.isNotReading = true } }

  var unsentBytes: Int { outbox.waitingBytes }

  /// Calls back once, when no more than so many bytes are unsent or the connection is closed. The callback only hands over.
  func onRelief(_ bytes: Int, _ body: @escaping @Sendable () -> Void) { outbox.onRelief(bytes, body) }

  /// Closes the connection once everything sent is written.
  func finish() {
    outbox.finish()
    state.withLock { $0.reader.take() }?.close()
  }

  /// Closes the connection and forgets what was not written.
  func close() {
    outbox.abandon()
    state.withLock { $0.reader.take() }?.close()
  }
}
