import CLinux
package import ControlServer
import FoundationEssentials
import Glibc
package import ProcessSupervision
internal import RelayConcurrency
package import RelayHome
internal import RelayJSON
package import RelayModel
internal import RelayTransport
package import RelayWire

/// A real daemon of the test's own, with the plugins it came with, an agent that behaves as pi does, and a fake messenger.
package final class RelayFixture: Sendable {
  package let scratch: TemporaryFolder
  package let home: HomeDirectory
  package let messenger: FakeMessenger
  private let programs: Locked<Programs>
  private let process = Locked<ChildProcess?>(nil)
  private let output = Lines()
  /// Closed when the daemon's standard error is.
  private let silence = Locked(Mailbox<Void>())

  /// Everybody may write; answers stream; drop-in plugins return at once.
  package static let defaultConfig = """
    messengers:
      fake:
        default:
          auth: {users: [u1, u2]}
    """

  private init(
    config: String, sessions: String, pi: String, agentArguments: [String], isOldAgent: Bool, agentFilter: String?,
    namesAgent: Bool,
    capabilities: Capabilities, programs: Programs
  ) async throws {
    self.programs = Locked(programs)
    scratch = try TemporaryFolder()
    home = HomeDirectory(path: scratch.path + "/home")
    try home.prepare()
    var program = programs.executable("pi-relay-demo-agent")
    if isOldAgent {
      program = try scratch.write(
        "old-agent", "#!/bin/sh\n[ \"$1\" = --help ] && exec echo '--session FILE'\nexec \(program) \"$@\"\n",
        executable: true)
    }
    if let agentFilter {
      program = try scratch.write(
        "filtered-agent",
        "#!/bin/sh\n[ \"$1\" = --help ] && exec \(program) --help\n\(program) \"$@\" | \(agentFilter)\n",
        executable: true)
    }
    let agent = """
      pi:
        \(namesAgent ? "executable: \(program)" : "")
        arguments: [\(agentArguments.joined(separator: ", "))]
        environment: {PI_CODING_AGENT_DIR: \(scratch.path)/agent}
        \(pi)
      sessions:
        directory: \(scratch.path)
        \(sessions)

      """
    try Data((agent + config).utf8).write(to: URL(filePath: home.path + "/relay.yaml"))
    chmod(home.path + "/relay.yaml", 0o600)
    messenger = try FakeMessenger(
      name: "fake", in: home.plugins, scratch: scratch.path, executable: programs.executable("splice"),
      capabilities: capabilities)
    try await messenger.listen()
  }

  /// Runs `body` with a daemon that is ready, and ends everything afterwards.
  ///
  /// - Parameters:
  ///   - isOldAgent: the agent is a release without session ids, which cannot list the entries of a session.
  ///   - agentFilter: a shell command that the agent's output goes through.
  ///   - namesAgent: otherwise relay.yaml names none, and the daemon looks for one itself.
  ///   - startsDaemon: otherwise `body` does.
  package static func run(
    config: String = defaultConfig, sessions: String = "", pi: String = "", agent: [String] = [],
    isOldAgent: Bool = false, agentFilter: String? = nil, namesAgent: Bool = true,
    capabilities: Capabilities = FakeMessenger.usual,
    programs: Programs = .built, descriptorLimit: Int? = nil, startsDaemon: Bool = true,
    _ body: (RelayFixture) async throws -> Void
  ) async throws {
    let fixture = try await RelayFixture(
      config: config, sessions: sessions, pi: pi, agentArguments: agent, isOldAgent: isOldAgent,
      agentFilter: agentFilter, namesAgent: namesAgent,
      capabilities: capabilities, programs: programs)
    do {
      if startsDaemon { try await fixture.start(descriptorLimit: descriptorLimit) }
      try await body(fixture)
    } catch {
      await fixture.end()
      throw error
    }
    await fixture.end()
  }

  /// Sets the programs that the next daemon is started from.
  package func use(_ new: Programs) { programs.withLock { $0 = new } }

  package func start(descriptorLimit: Int? = nil) async throws {
    let programs = programs.withLock { $0 }
    let (readiness, ready) = AsyncStream<Bool>.makeStream()
    let (child, pipes) = try ChildProcess.spawn(
      .init(
        name: "pi-relayd", path: "/bin/sh",
        arguments: [
          "-c", (descriptorLimit.map { "ulimit -n \($0) && " } ?? "") + "exec \"$0\" start",
          programs.executable("pi-relayd"),
        ],
        environment: environment.merging(programs.environment) { $1 }),
      guardian: nil)
    process.withLock { $0 = child }
    for descriptor in [pipes.input, pipes.output] { _ = Glibc.close(descriptor) }
    let output = output
    let silence = Mailbox<Void>()
    self.silence.withLock { $0 = silence }
    let reader = LineReader(
      descriptor: pipes.error, maximumLineLength: 1 << 20,
      handlers: .init(
        line: { framed in
          guard case .line(let bytes) = framed else { return }
          let line = String(decoding: bytes, as: UTF8.self)
          output.add(line)
          if line.contains("is ready in") { ready.yield(true) }
        },
        end: {
          ready.finish()
          silence.close()
        }))
    try reader.start()
    for await _ in readiness { return }
    throw SystemError("the daemon did not start: \(log.joined(separator: " | "))", code: 0)
  }

  /// Runs `pi-relayd` with these arguments in this home.
  package func command(_ arguments: String...) async throws -> Command { try await command(arguments) }

  package func command(_ arguments: [String], with programs: Programs = .built) async throws -> Command {
    try await Command.run(
      Built.executable("pi-relayd"), arguments, environment: environment.merging(programs.environment) { $1 })
  }

  /// Runs `pi-relayd` with these arguments, answering what it asks.
  package func converse(
    _ arguments: String..., answer: @escaping @Sendable (String, (String) -> Void) -> Void
  ) async throws -> Command {
    try await converse(arguments, answer: answer)
  }

  package func converse(
    _ arguments: [String], answer: @escaping @Sendable (String, (String) -> Void) -> Void
  ) async throws -> Command {
    try await Command.converse(Built.executable("pi-relayd"), arguments, environment: environment, answer)
  }

  private var environment: [String: String] {
    [
      "PI_RELAY_HOME": home.path, "HOME": scratch.path, "PATH": "/usr/bin:/bin", "PI_BRIDGE_DIR": bridges,
    ]
  }

  /// The folder of the sessions' bridges.
  package var bridges: String { scratch.path + "/bridges" }

  /// The text of relay.yaml.
  package var configuration: String {
    get throws { String(decoding: try Data(contentsOf: URL(filePath: home.path + "/relay.yaml")), as: UTF8.self) }
  }

  /// The lines that the daemon has logged.
  package var log: [String] { output.all }

  /// Waits until the daemon has logged this text.
  package func waitForLog(_ text: String) async throws {
    try await waitForLog { $0.contains { $0.contains(text) } }
  }

  /// Waits until something holds of the lines that the daemon has logged.
  package func waitForLog(until condition: ([String]) -> Bool) async throws {
    await output.wait(until: condition)
    try Task.checkCancellation()
  }

  package var daemon: ChildProcess? { process.withLock { $0 } }

  /// Kills the daemon as a crash would, and starts the next in the same home.
  ///
  /// - Parameter meanwhile: runs while there is no daemon.
  package func killAndStart(meanwhile: () throws -> Void = {}) async throws {
    if let child = daemon {
      kill(child.pid, SIGKILL)
      _ = await child.exit()
    }
    try meanwhile()
    try await start()
  }

  /// How a daemon makes way for the next.
  package enum Break: CaseIterable, Sendable { case stop, kill, upgrade }

  /// Lets the daemon make way for the next, which is ready afterwards.
  package func goThrough(_ change: Break) async throws {
    switch change {
    case .stop:
      let exit = await stop()
      guard exit == .exited(0) else {
        throw SystemError("the daemon did not stop in good order: \(log.suffix(5))", code: 0)
      }
      try await start()
    case .kill: try await killAndStart()
    case .upgrade:
      let upgrade = try await command("upgrade")
      guard upgrade.exit == .exited(0) else { throw SystemError("no upgrade: \(upgrade.errors)", code: 0) }
    }
  }

  /// Ends the daemon in good order.
  package func stop() async -> TerminationStatus? {
    guard let child = daemon else { return nil }
    kill(child.pid, SIGTERM)
    let exit = await child.exit()
    _ = await silence.withLock { $0 }.next()
    return exit
  }

  private func end() async {
    if let child = daemon {
      await child.tearDown([.terminate(then: .seconds(10))], clock: ContinuousClock())
    }
    // After the daemon, which would wait for it to say that it stops.
    await messenger.close()
  }

  // MARK: - Looking at it

  package func ask<Request: WireRequest>(_ request: Request) async throws -> Request.Reply {
    let descriptor = relay_connect_unix(home.socket)
    guard descriptor >= 0 else { throw SystemError("connect", code: -descriptor) }
    let peer = JSONRPCConnection(input: descriptor, output: fcntl(descriptor, F_DUPFD_CLOEXEC, 3))
    try peer.start()
    defer { peer.close() }
    return try await peer.request(request, within: .seconds(20))
  }

  package func status() async throws -> DaemonStatus { try await ask(ControlStatus()) }

  package func plugin(_ name: String) async throws -> PluginStatus? {
    try await status().plugins.first { $0.name == name }
  }

  /// Asks for the status until something holds.
  @discardableResult
  package func waitForStatus(_ condition: (DaemonStatus) -> Bool) async throws -> DaemonStatus {
    while true {
      let status = try await status()
      if condition(status) { return status }
      // A daemon tells its status only to those who ask.
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  /// Kills a plugin and waits until its next process has shaken hands.
  package func crash(_ plugin: String) async throws {
    let before = try await waitForStatus { $0.plugins.first { $0.name == plugin }?.state == .running }
      .plugins.first { $0.name == plugin }
    guard let pid = before?.pid else { throw SystemError("\(plugin) has no process", code: 0) }
    kill(pid, SIGKILL)
    try await waitForStatus { status in
      status.plugins.first { $0.name == plugin }.map { $0.state == .running && $0.pid != pid } ?? false
    }
  }
}

/// Waits for a process that is not our child to be gone.
package func waitForEnd(of pid: Int32) async throws {
  let descriptor = relay_pidfd_open(pid)
  // Gone already.
  guard descriptor >= 0 else { return }
  let ends = Mailbox<Void>(merge: { _, _ in true })
  let token = try EventLoop.shared.watch(descriptor, .read) { _ in ends.post(()) }
  // Nil at the test's time limit, which then fails it.
  _ = await ends.next()
  EventLoop.shared.close(token, descriptor)
}

/// The processes that a process has started itself and that still run.
package func childProcesses(of pid: Int32) -> [Int32] {
  let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
  return threads.flatMap { thread in
    let data = FileManager.default.contents(atPath: "/proc/\(pid)/task/\(thread)/children") ?? Data()
    return String(decoding: data, as: UTF8.self).split(separator: " ").compactMap { Int32($0) }
  }
}

/// Where the programs are taken from, and what the daemon's environment has besides.
package struct Programs: Sendable {
  let folder: String
  let environment: [String: String]

  package init(folder: String, environment: [String: String]) {
    self.folder = folder
    self.environment = environment
  }

  package static let built = Programs(folder: Built.folder, environment: [:])

  /// With more in the environment of what is started.
  package static func built(with environment: [String: String]) -> Programs {
    Programs(folder: Built.folder, environment: environment)
  }

  func executable(_ name: String) -> String { "\(folder)/\(name)" }
}
