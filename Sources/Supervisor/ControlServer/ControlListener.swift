internal import CLinux
internal import Glibc
internal import Logging
internal import RelayConcurrency
internal import RelayHome
internal import RelayTransport

/// The listening socket: takes connections, as many as may be open at a time.
final class ControlListener: Sendable {
  private struct State {
    var token: EventLoop.Token?
    var open = 0
  }

  static let maximumConnections = 128

  let descriptor: Int32
  private let path: String
  private let clock: any Clock<Duration>
  private let logger: Logger
  private let taskScope: TaskScope
  private let state = Locked(State())

  /// Begins to listen.
  ///
  /// - Parameter adopted: the listening socket of the program that this process was before.
  init(
    path: String, adopting adopted: Int32?, clock: any Clock<Duration>, taskScope: TaskScope, logger: Logger
  ) throws(HomeDirectory.Failure) {
    self.path = path
    self.clock = clock
    self.taskScope = taskScope
    self.logger = logger
    let result = adopted ?? relay_listen_unix(path)
    guard result >= 0 else {
      throw HomeDirectory.Failure(SystemError("cannot be made", path: "the control socket \(path)", code: -result))
    }
    descriptor = result
  }

  /// - Parameter serve: takes over the descriptor of a connection, and returns when the connection is over.
  func start(serve: @escaping @Sendable (Int32) async -> Void) throws(SystemError) {
    let token = try EventLoop.shared.watch(descriptor, .read) { [self] _ in acceptAll(serve) }
    state.withLock { $0.token = token }
  }

  func stop() {
    let token = state.withLock { $0.token.take() }
    if let token { EventLoop.shared.close(token, descriptor) }
    _ = unlink(path)
  }

  private func acceptAll(_ serve: @escaping @Sendable (Int32) async -> Void) {
    while true {
      let connection = relay_accept(descriptor)
      guard connection >= 0 else {
        if connection == -EMFILE || connection == -ENFILE { pauseAccepting() }
        return
      }
      let isFull = state.withLock { state in
        if state.open >= Self.maximumConnections { return true }
        state.open += 1
        return false
      }
      guard !isFull else {
        _ = close(connection)
        logger.warning("a connection to the control socket was refused: \(Self.maximumConnections) are open already")
        continue
      }
      taskScope.add { [self] in
        await serve(connection)
        state.withLock { $0.open -= 1 }
      }
    }
  }

  /// Without a free descriptor the waiting connection would call again and again.
  private func pauseAccepting() {
    guard let token = state.withLock({ $0.token }) else { return }
    EventLoop.shared.change(token, descriptor, to: [])
    logger.error("the control socket takes no connection: too many files are open; raise the limit (ulimit -n)")
    taskScope.add { [self, clock] in
      // Cancelled, or without a token: the daemon is stopping.
      guard (try? await clock.sleep(for: .seconds(1))) != nil, let token = state.withLock({ $0.token }) else { return }
      EventLoop.shared.change(token, descriptor, to: .read)
    }
  }
}
