import ArgumentParser
import CLinux
import FoundationEssentials
import Glibc
import RelayConfig
internal import RelayHome
import RelayTransport
import RelayWire

/// The folders, programs and variables around every command.
struct CommandLineEnvironment {
  let environment = ProcessInfo.processInfo.environment
  let home: HomeDirectory
  /// The folder this executable is in.
  let programs: String

  init() {
    home = HomeDirectory(environment: environment)
    let path =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    programs = path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
  }

  var workingDirectory: String { FileManager.default.currentDirectoryPath }

  /// Helpers stand beside this executable, or where `make install` puts them.
  func helper(_ name: String) -> String {
    let installed = "\(programs)/../libexec/pi-relay/\(name)"
    return access(installed, X_OK) == 0 ? installed : "\(programs)/\(name)"
  }

  var bundledPlugins: String {
    let installed = "\(programs)/../libexec/pi-relay"
    return access(installed, X_OK) == 0 ? installed : programs
  }

  /// Connects to the daemon; nil when none runs.
  ///
  /// - Parameter notified: takes the method and the line of each notification.
  func connect(notified: (@Sendable (String, [UInt8]) -> Void)? = nil) -> JSONRPCConnection? {
    let descriptor = relay_connect_unix(home.socket)
    guard descriptor >= 0 else { return nil }
    let writer = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard writer >= 0 else {
      _ = close(descriptor)
      return nil
    }
    let peer = JSONRPCConnection(input: descriptor, output: writer, notified: notified)
    do {
      try peer.start()
      return peer
    } catch {
      peer.close()
      return nil
    }
  }

  /// True when a daemon answers.
  var isRunning: Bool {
    guard let peer = connect() else { return false }
    peer.close()
    return true
  }

  /// A command of this program, as people type it here.
  func command(_ words: String) -> String {
    let program = CommandLine.arguments[0].contains("/") ? CommandLine.arguments[0] : "pi-relayd"
    let home = environment[HomeDirectory.homeVariable].map { "\(HomeDirectory.homeVariable)=\($0) " } ?? ""
    return "\(home)\(program) \(words)"
  }

  /// Asks the daemon something.
  func ask<Request: WireRequest>(_ request: Request) async throws -> Request.Reply {
    guard let peer = connect() else { throw notRunning }
    defer { peer.close() }
    do {
      return try await peer.request(request, within: .seconds(30))
    } catch {
      throw fail(DaemonFailure(error, self))
    }
  }

  /// Ends the command because there is no daemon, and says so.
  var notRunning: ExitCode {
    StandardError.say("No pi-relayd runs for \(home.path). Start one with: pi-relayd start")
    return ExitStatus.notRunning
  }

  /// Ends the command with one line that says what is wrong.
  func fail(_ problem: any Error) -> ExitCode {
    StandardError.say("pi-relayd: \(problem)")
    return problem is ConfigProblems || problem is ConfigReader.Unreadable
      ? ExitStatus.badConfiguration : ExitStatus.failed
  }
}
