internal import CLinux
internal import Glibc
package import RelayConcurrency

/// A listening Unix socket that only its user can reach: takes connections, as many as may be open at a time.
package final class UnixListener: Sendable {
  /// The reason why a connection was not taken.
  package enum Refusal: Sendable, Equatable {
    /// So many are open already; the new one was closed.
    case full(maximum: Int)
    /// The process has no free descriptor; the connection waits.
    case noDescriptor
  }

  private struct State {
    var token: EventLoop.Token?
    var open = 0
  }

  package let descriptor: Int32
  private let path: String
  private let maximumConnections: Int
  private let loop: EventLoop
  private let clock: any Clock<Duration>
  private let taskScope: TaskScope
  private let refused: @Sendable (Refusal) -> Void
  private let state = Locked(State())

  /// Begins to listen; a socket that an earlier process left at the path is replaced.
  ///
  /// - Parameters:
  ///   - adopted: the listening socket of the program that this process was before.
  ///   - taskScope: runs a task for each connection.
  ///   - refused: called on the loop's thread.
  package init(
    path: String, adopting adopted: Int32? = nil, maximumConnections: Int, loop: EventLoop = .shared,
    clock: any Clock<Duration>, taskScope: TaskScope, refused: @escaping @Sendable (Refusal) -> Void
  ) throws(SystemError) {
    self.path = path
    self.maximumConnections = maximumConnections
    self.loop = loop
    self.clock = clock
    self.taskScope = taskScope
    self.refused = refused
    let result = adopted ?? relay_listen_unix(path)
    guard result >= 0 else { throw SystemError("cannot be made", path: "the socket \(path)", code: -result) }
    descriptor = result
  }

  /// - Parameter serve: takes over the descriptor of a connection, and returns when the connection is over.
  package func start(serve: @escaping @Sendable (Int32) async -> Void) throws(SystemError) {
    let token = try loop.watch(descriptor, .read) { [self] _ in acceptAll(serve) }
    state.withLock { $0.token = token }
  }

  /// Stops listening and removes the socket's file. Connections stay.
  package func stop() {
    let token = state.withLock { $0.token.take() }
    if let token { loop.close(token, descriptor) }
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
        if state.open >= maximumConnections { return true }
        state.open += 1
        return false
      }
      guard !isFull else {
        _ = close(connection)
        refused(.full(maximum: maximumConnections))
        continue
      }
      let isTaken = taskScope.add { [self] in
        await serve(connection)
        state.withLock { $0.open -= 1 }
      }
      if !isTaken { _ = close(connection) }
    }
  }

  /// Without a free descriptor the waiting connection would call again and again.
  private func pauseAccepting() {
    guard let token = state.withLock({ $0.token }) else { return }
    loop.change(token, descriptor, to: [])
    refused(.noDescriptor)
    taskScope.add { [self, clock] in
      // Cancelled, or without a token: the server is stopping.
      guard (try? await clock.sleep(for: .seconds(1))) != nil, let token = state.withLock({ $0.token }) else { return }
      loop.change(token, descriptor, to: .read)
    }
  }
}
