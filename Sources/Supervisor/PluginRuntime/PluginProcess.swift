internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayHome
internal import RelayTransport
internal import RelayWire

/// A process of a plugin: its pipes, its log, and the explanation of its end.
final class PluginProcess: Sendable {
  let child: ChildProcess
  let peer: JSONRPCConnection
  let log: LineReader
  /// Identifies the processes that it started, in their environment.
  let marker: String
  let output: PluginOutput
  private let connected = Locked<PluginConnection?>(nil)
  private let stopped = Locked<String?>(nil)

  static let shutdownLimit: Duration = .seconds(5)

  /// Starts the plugin's executable.
  convenience init(_ specification: PluginSpecification, _ dependencies: PluginDependencies) throws(SpawnError) {
    let name = specification.name
    let marker = "PI_RELAY_PLUGIN_LIFE=\(name)#\(UUID().uuidString)"
    let (child, pipes) = try ChildProcess.spawn(
      .init(
        name: name, path: specification.executable.path,
        environment: ChildEnvironment.plugin(
          from: dependencies.environment,
          markers: [dependencies.guardian?.marker ?? "\(Guardian.markerName)=none", marker]),
        directory: dependencies.home.data(name)),
      guardian: dependencies.guardian)
    let output = PluginOutput(logger: dependencies.logger(of: name))
    self.init(
      child: child,
      peer: JSONRPCConnection(
        input: pipes.output, output: pipes.input, clock: dependencies.timeSource.clock,
        violation: { output.report($0) }),
      log: output.collect(pipes.error, held: [], into: dependencies.logFile(of: name)), marker: marker, output: output)
  }

  /// Continues with a process that was inherited across `exec`.
  convenience init(
    adopting handover: PluginSnapshot, _ dependencies: PluginDependencies
  ) throws(SpawnError) {
    let child = try ChildProcess.adopt(handover.child, guardian: dependencies.guardian)
    let output = PluginOutput(logger: dependencies.logger(of: handover.name))
    self.init(
      child: child,
      peer: JSONRPCConnection(
        handover.peer, clock: dependencies.timeSource.clock, violation: { output.report($0) }),
      log: output.collect(
        handover.errors, held: handover.heldErrors, into: dependencies.logFile(of: handover.name)),
      marker: handover.lifeMarker,
      output: output)
  }

  private init(
    child: ChildProcess, peer: JSONRPCConnection, log: LineReader, marker: String, output: PluginOutput
  ) {
    self.child = child
    self.peer = peer
    self.log = log
    self.marker = marker
    self.output = output
    child.onExit { [peer, log, marker] _ in
      // Its helpers end with it; a helper that inherited the output must not make the plugin look alive.
      _ = relay_signal_marked(marker, SIGKILL, getpid())
      peer.closeAfterDraining()
      log.closeAfterDraining()
    }
  }

  /// The way to the plugin, from the handshake on.
  var link: PluginConnection? {
    get { connected.withLock { $0 } }
    set { connected.withLock { $0 = newValue } }
  }

  /// Kills the process; the first reason is kept.
  func stop(because why: String) {
    stopped.withLock { $0 = $0 ?? "\(why), and was stopped" }
    child.signal(SIGKILL)
  }

  /// Ends it in good order, and returns when it has ended.
  func end(_ reason: PluginLifecycle.StopReason, clock: any Clock<Duration>) async {
    if let link {
      // A refusal or a silence changes nothing: the next stages end it anyway.
      _ = try? await link.request(Shutdown(reason: reason.rawValue), within: Self.shutdownLimit)
    }
    peer.finish()
    await child.tearDown([.wait(.seconds(2)), .terminate(then: .seconds(2))], clock: clock)
  }

  /// Waits for the end of a process whose output has ended.
  ///
  /// - Returns: how it ended: by itself or by this daemon.
  func explainEnd(within limit: Duration, clock: any Clock<Duration>) async -> String {
    if let exit = await child.exit(within: limit, clock) { return stopped.withLock { $0 } ?? "it ended with \(exit)" }
    stop(because: "it closed its standard output")
    _ = await child.exit()
    return stopped.withLock { $0 } ?? ""
  }
}
