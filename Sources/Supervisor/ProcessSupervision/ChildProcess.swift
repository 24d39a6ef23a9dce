internal import CLinux
internal import Glibc
internal import RelayConcurrency
internal import RelayTransport

/// A child process: started as leader of its own process group, waited for, and ended together with the group.
package final class ChildProcess: Sendable {
  /// The program to start, with its arguments and environment.
  package struct Request: Sendable {
    /// For messages: `discord/work`, `session fix-tests`.
    package var name: String
    package var path: String
    package var arguments: [String]
    package var environment: [String: String]
    package var directory: String?

    package init(
      name: String, path: String, arguments: [String] = [], environment: [String: String], directory: String? = nil
    ) {
      self.name = name
      self.path = path
      self.arguments = arguments
      self.environment = environment
      self.directory = directory
    }
  }

  /// Our ends of the child's standard descriptors. Their owner closes them.
  package struct Pipes: Sendable {
    package let input: Int32
    package let output: Int32
    package let error: Int32

    package init(input: Int32, output: Int32, error: Int32) {
      self.input = input
      self.output = output
      self.error = error
    }
  }

  /// A step of ending a child, and how long it may take.
  package enum Stage: Sendable, Equatable {
    case wait(Duration)
    case terminate(then: Duration)
    case kill
  }

  package let pid: Int32
  package let startTime: UInt64
  private let guardian: Guardian?
  private let outcome = Locked<Outcome>(.running([]))

  private enum Outcome {
    case running([@Sendable (TerminationStatus) -> Void])
    case ended(TerminationStatus)
  }

  /// Descriptors that must be free before anything is started.
  package static let descriptorReserve = 16

  private init(pid: Int32, guardian: Guardian?) {
    self.pid = pid
    self.guardian = guardian
    startTime = relay_process_start_time(pid)
  }

  /// Starts a child.
  package static func spawn(_ request: Request, guardian: Guardian?) throws(SpawnError) -> (ChildProcess, Pipes) {
    guard SpawnGate.shared.isOpen else { throw .postponed(path: request.path) }
    try requireDescriptors(for: request.name)
    var ends: [Int32] = []
    func pipe() throws(SpawnError) -> (read: Int32, write: Int32) {
      var pair: [Int32] = [0, 0]
      let code = relay_pipe(&pair)
      if code != 0 {
        for end in ends { _ = close(end) }
        throw .system(path: request.path, reason: SystemError.reason(of: code))
      }
      ends += pair
      return (pair[0], pair[1])
    }
    let input = try pipe()
    let output = try pipe()
    let error = try pipe()
    var pid: pid_t = 0
    let code = start(request, input: input.read, output: output.write, error: error.write, &pid)
    for end in [input.read, output.write, error.write] { _ = close(end) }
    if code != 0 {
      for end in [input.write, output.read, error.read] { _ = close(end) }
      throw SpawnError(path: request.path, directory: request.directory, code: code)
    }
    let child = ChildProcess(pid: pid, guardian: guardian)
    guardian?.record(child)
    child.watch()
    return (child, Pipes(input: input.write, output: output.read, error: error.read))
  }

  /// A child inherited across `exec`.
  package struct Snapshot: Codable, Sendable {
    package var pid: Int32
    package var startTime: UInt64
  }

  package var handover: Snapshot { Snapshot(pid: pid, startTime: startTime) }

  /// Continues to watch a child after this process has become another program. A child that has exited meanwhile is
  /// reaped as usual.
  package static func adopt(_ handover: Snapshot, guardian: Guardian?) throws(SpawnError) -> ChildProcess {
    let child = ChildProcess(pid: handover.pid, guardian: guardian)
    guard child.startTime == handover.startTime else {
      throw .system(path: "process \(handover.pid)", reason: "another process has this number now")
    }
    guardian?.record(child)
    child.watch()
    return child
  }

  /// Descriptors that a child and what belongs to it usually take, and more: pipes, logs, sockets.
  private static let descriptorsByChild = 32
  /// Children that may start before the free descriptors are counted again: counting takes as long as there are open ones.
  private static let uncounted = Locked(0)

  private static func requireDescriptors(for name: String) throws(SpawnError) {
    let isSpare = uncounted.withLock { count in
      count -= 1
      return count >= 0
    }
    guard !isSpare else { return }
    let limit = relay_descriptor_limit()
    let used = Int(relay_open_descriptors())
    guard limit > 0, used >= 0 else { return }
    let spare = limit - used - descriptorReserve
    // Where there are few, each start is counted.
    uncounted.withLock { $0 = max(0, spare / descriptorsByChild - descriptorsByChild) }
    if spare < 0 { throw .fewDescriptors(name: name, free: limit - used) }
  }

  /// Within a guarded run, its mark: see `relay_guard_run`.
  private static let run: [String: String] =
    getenv(RELAY_RUN).map { [RELAY_RUN: String(cString: $0)] } ?? [:]

  private static func start(
    _ request: Request, input: Int32, output: Int32, error: Int32, _ pid: inout pid_t
  ) -> Int32 {
    let arguments = [request.path] + request.arguments
    let environment = request.environment.merging(run) { given, _ in given }.map { "\($0.key)=\($0.value)" }
    var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
    defer { for pointer in argv + envp { free(pointer) } }
    return request.path.withCString { path in
      argv.withUnsafeMutableBufferPointer { argv in
        envp.withUnsafeMutableBufferPointer { envp in
          func spawn(_ directory: UnsafePointer<CChar>?) -> Int32 {
            var raw = relay_spawn_request(
              path: path, argv: argv.baseAddress, envp: envp.baseAddress, cwd: directory, standard_input: input,
              standard_output: output, standard_error: error, new_session: 0)
            return relay_spawn(&raw, &pid)
          }
          guard let directory = request.directory else { return spawn(nil) }
          return directory.withCString { spawn($0) }
        }
      }
    }
  }

  private func watch() {
    let descriptor = relay_pidfd_open(pid)
    guard descriptor >= 0 else {
      // No descriptor to wait on: a thread waits instead.
      LoopThread.start(name: "relay-wait") { [self] in
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        end(status)
      }
      return
    }
    let token = Locked<EventLoop.Token?>(nil)
    let reap: EventLoop.Callback = { [self] _ in
      var status: Int32 = 0
      guard waitpid(pid, &status, WNOHANG) == pid else { return }
      if let token = token.withLock({ $0 }) { EventLoop.shared.close(token, descriptor) }
      end(status)
    }
    // Registered from the loop's thread, so that the token is stored before the first callback.
    EventLoop.shared.perform { [self] in
      do {
        let watched = try EventLoop.shared.watch(descriptor, .read, reap)
        token.withLock { $0 = watched }
      } catch {
        _ = close(descriptor)
        LoopThread.start(name: "relay-wait") { [self] in
          var status: Int32 = 0
          while waitpid(pid, &status, 0) < 0, errno == EINTR {}
          end(status)
        }
      }
    }
  }

  private func end(_ status: Int32) {
    // The rest of the group has lost its leader; the kernel does not reuse the number while the group exists.
    _ = kill(-pid, SIGKILL)
    guardian?.forget(self)
    let exit = TerminationStatus(status: status)
    let waiting: [@Sendable (TerminationStatus) -> Void] = outcome.withLock { outcome in
      guard case .running(let waiting) = outcome else { return [] }
      outcome = .ended(exit)
      return waiting
    }
    for tell in waiting { tell(exit) }
  }

  /// Calls `tell` once the child has ended and has been reaped; at once if it has.
  package func onExit(_ tell: @escaping @Sendable (TerminationStatus) -> Void) {
    let ended: TerminationStatus? = outcome.withLock { outcome in
      switch outcome {
      case .ended(let exit): return exit
      case .running(let waiting):
        outcome = .running(waiting + [tell])
        return nil
      }
    }
    if let ended { tell(ended) }
  }

  /// Waits until the child has ended and has been reaped.
  package func exit() async -> TerminationStatus {
    await withCheckedContinuation { continuation in onExit { continuation.resume(returning: $0) } }
  }

  package var hasEnded: Bool {
    outcome.withLock { if case .ended = $0 { true } else { false } }
  }

  /// Sends a signal to the whole group, unless the child has been reaped.
  package func signal(_ number: Int32) {
    outcome.withLock { outcome in
      if case .running = outcome { _ = kill(-pid, number) }
    }
  }

  /// Ends the child, one stage after another until it is gone. The last stage is always SIGKILL.
  @discardableResult
  package func tearDown(_ stages: [Stage], clock: any Clock<Duration>) async -> TerminationStatus {
    for stage in stages + [.kill] {
      switch stage {
      case .wait(let limit):
        if let exit = await exit(within: limit, clock) { return exit }
      case .terminate(let limit):
        signal(SIGTERM)
        if let exit = await exit(within: limit, clock) { return exit }
      case .kill: signal(SIGKILL)
      }
    }
    return await exit()
  }

  /// How it ended, or nil when it still runs after `limit`.
  package func exit(within limit: Duration, _ clock: any Clock<Duration>) async -> TerminationStatus? {
    let (exits, arrival) = AsyncStream<TerminationStatus>.makeStream()
    onExit { exit in
      arrival.yield(exit)
      arrival.finish()
    }
    // `nil` means that the limit passed, or that the caller was cancelled.
    return try? await withDeadline(limit, clock: clock) {
      for await exit in exits { return exit }
      throw CancellationError()
    }
  }
}
