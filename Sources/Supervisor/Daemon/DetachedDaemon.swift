import ArgumentParser
import CLinux
import FoundationEssentials
import Glibc
import RelayConcurrency
internal import RelayHome
import RelayTransport
import RelayWire

/// A daemon of its own session, without a terminal.
struct DetachedDaemon {
  private let surroundings: CommandLineEnvironment

  init(_ surroundings: CommandLineEnvironment) {
    self.surroundings = surroundings
  }

  /// Set in the environment of a detached daemon.
  static let marker = "PI_RELAY_DETACHED"

  static func dropOutput() {
    let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
    guard null >= 0 else { return }
    dup2(null, 1)
    dup2(null, 2)
    _ = close(null)
  }

  static let startLimit: Duration = .seconds(20)

  /// Starts it and waits until it answers.
  func start() async throws {
    let home = surroundings.home
    do {
      try home.prepare()
    } catch {
      throw surroundings.fail(error)
    }
    if DaemonLock.isHeld(home), DaemonLock.isHolderAlive(home) {
      throw surroundings.fail(DaemonLock.heldFailure(of: home))
    }
    let child = try launch()
    let deadline = ContinuousClock.now + Self.startLimit
    while ContinuousClock.now < deadline {
      if let peer = surroundings.connect() {
        peer.close()
        return
      }
      var status: Int32 = 0
      if waitpid(child, &status, WNOHANG) == child {
        StandardError.say("pi-relayd did not start:")
        for line in lastMessages() { StandardError.say("  \(line)") }
        // The exit codes of a daemon are those of the commands.
        let code = status & 0x7F == 0 ? status >> 8 & 0xFF : 0
        throw code == 0 ? ExitStatus.failed : ExitCode(code)
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    StandardError.say("pi-relayd did not become ready within \(Self.startLimit.forPeople); see \(outputPath)")
    throw ExitStatus.failed
  }

  private var outputPath: String { surroundings.home.logs + "/start.log" }

  private func lastMessages() -> [Substring] {
    let data = FileManager.default.contents(atPath: outputPath) ?? Data()
    return String(decoding: data, as: UTF8.self).split(separator: "\n").suffix(5)
  }

  private func launch() throws -> pid_t {
    let null = open("/dev/null", O_RDWR | O_CLOEXEC)
    let output = open(outputPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard null >= 0, output >= 0 else {
      throw surroundings.fail(SystemError("cannot be opened", path: outputPath))
    }
    defer {
      _ = close(null)
      _ = close(output)
    }
    var pid: pid_t = 0
    let path = "\(surroundings.programs)/pi-relayd"
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(path), strdup("start"), nil]
    defer { for argument in arguments { free(argument) } }
    setenv(Self.marker, "1", 1)
    defer { unsetenv(Self.marker) }
    let code = path.withCString { path in
      arguments.withUnsafeMutableBufferPointer { arguments in
        var request = relay_spawn_request(
          path: path, argv: arguments.baseAddress, envp: environ, cwd: nil, standard_input: null,
          standard_output: output, standard_error: output, new_session: 1)
        return relay_spawn(&request, &pid)
      }
    }
    guard code == 0 else { throw surroundings.fail(SystemError("cannot be started", path: path, code: code)) }
    return pid
  }
}
