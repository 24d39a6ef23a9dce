internal import CLinux
internal import Glibc
package import ProcessSupervision
package import RelayPipes
internal import RelayWire

/// One life of a plugin outside the daemon: to try it, to set it up, or to check its configuration.
package final class PluginTrial: Sendable {
  package let peer: Peer
  private let child: ChildProcess
  /// What it has printed that is no protocol.
  let oddities: Locked<[String]>

  /// - Parameters:
  ///   - folder: where it works.
  ///   - log: told each line of its standard error.
  package init(
    path: String, environment: [String: String], folder: String, clock: any Clock<Duration> = LoopClock.shared,
    log: @escaping @Sendable (String) -> Void = { StandardError.say("  | " + $0) }
  ) throws {
    let marker = "\(Guardian.markerName)=check-\(getpid())"
    let (child, pipes) = try ChildProcess.spawn(
      .init(
        name: path, path: path, environment: ChildEnvironment.plugin(from: environment, markers: [marker]),
        directory: folder),
      guardian: nil)
    let oddities = Locked<[String]>([])
    peer = Peer(
      input: pipes.output, output: pipes.input, clock: clock,
      oddity: { oddity in
        switch oddity {
        case .notProtocol(let beginning): oddities.withLock { $0.append("it printed \(beginning.debugDescription)") }
        case .tooLong(let bytes): oddities.withLock { $0.append("it printed a line of \(ByteCount(bytes))") }
        case .unfinished: oddities.withLock { $0.append("its output ended in the middle of a line") }
        case .unknownAnswer, .ignoredNotification: break
        }
      })
    self.child = child
    self.oddities = oddities
    let errors = LineReader(
      descriptor: pipes.error, maximumLineLength: 1 << 16, loop: .logs,
      handlers: .init(line: { framed in
        if case .line(let bytes) = framed { log(String(decoding: bytes, as: UTF8.self)) }
      }))
    try errors.start()
    try peer.start()
  }

  /// Closes its input and waits for it, five seconds at most.
  @discardableResult
  package func end(clock: any Clock<Duration> = LoopClock.shared) async -> ChildExit {
    peer.finish()
    let exit = await child.tearDown([.wait(.seconds(5))], clock: clock)
    peer.close()
    return exit
  }
}
