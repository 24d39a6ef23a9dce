internal import Glibc
package import ProcessSupervision
internal import RelayJSON
package import RelayTransport
internal import RelayWire

/// A process of a plugin outside the daemon, to try it, to set it up, or to check its configuration.
package final class PluginProbe: Sendable {
  /// Carried by all that is started for this process's trials, as `Guardian.marker` is by what a daemon starts.
  static let marker = "\(Guardian.markerName)=check-\(getpid())"

  package let peer: JSONRPCConnection
  private let child: ChildProcess

  /// - Parameters:
  ///   - folder: where it works.
  ///   - violation: gets all output that is not part of the protocol.
  ///   - log: gets each line of its standard error.
  package init(
    path: String, environment: [String: String], folder: String, clock: any Clock<Duration> = LoopClock.shared,
    violation: @escaping @Sendable (JSONRPCConnection.ProtocolViolation) -> Void = { _ in },
    log: @escaping @Sendable (String) -> Void = { StandardError.say("  | " + $0) }
  ) throws {
    let (child, pipes) = try ChildProcess.spawn(
      .init(
        name: path, path: path, environment: ChildEnvironment.plugin(from: environment, markers: [Self.marker]),
        directory: folder),
      guardian: nil)
    peer = JSONRPCConnection(input: pipes.output, output: pipes.input, clock: clock, violation: violation)
    self.child = child
    let errors = LineReader(
      descriptor: pipes.error, maximumLineLength: 1 << 16, loop: .logs,
      handlers: .init(line: { framed in
        if case .line(let bytes) = framed { log(String(decoding: bytes, as: UTF8.self)) }
      }))
    try errors.start()
    try peer.start()
  }

  /// Closes its input and waits for it.
  ///
  /// - Parameter patience: the time it has until it is killed.
  @discardableResult
  package func end(
    patience: Duration = .seconds(5), clock: any Clock<Duration> = LoopClock.shared
  ) async -> TerminationStatus {
    peer.finish()
    let exit = await child.tearDown(patience > .zero ? [.wait(patience)] : [], clock: clock)
    // All of its output counts, to the last line.
    peer.closeAfterDraining()
    return exit
  }
}
