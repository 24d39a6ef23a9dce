import ArgumentParser
import CLinux
internal import ControlServer
import FoundationEssentials
import Glibc
internal import Logging
internal import PluginRuntime
import RelayConcurrency
import RelayConfig
internal import RelayHome
internal import RelayLogging
internal import RelayModel
import RelayTransport

struct Logs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a log: the daemon's, a plugin's or a session's.",
    discussion: "Sessions are named by their name or the beginning of their id.")

  @Argument(help: "A plugin or session; nothing for the daemon itself.") var name: String?
  @Option(help: "Of the daemon's log, only lines of this level and those above it.") var level: Config.Logging.Level?
  @Option(help: ArgumentHelp("Of the daemon's log, only lines about this session.", valueName: "name|id"))
  var session: String?
  @Flag(name: [.customShort("f"), .long], help: "Show new lines as they come.") var follow = false
  @Option(name: [.customShort("n"), .long], help: "How many of the last lines to show.") var lines = 50

  func validate() throws {
    guard name != nil, level != nil || session != nil else { return }
    throw ValidationError("--level and --session choose lines of the daemon's log; leave out \(name ?? "the name")")
  }

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    let path = try await path(surroundings)
    var filter = LogFilter(
      level: level.flatMap { Logger.Level(rawValue: $0.rawValue) }, sessions: try await sessionIDs(surroundings))
    guard let data = FileManager.default.contents(atPath: path) else {
      let known = known(surroundings)
      StandardError.say(
        "pi-relayd: there is no log \(path). "
          + (known.isEmpty
            ? "The first start of the daemon makes it: \(surroundings.command("start"))"
            : "Logs there are: \(known.joined(separator: ", "))"))
      throw ExitStatus.failed
    }
    let chosen = String(decoding: data, as: UTF8.self).split(separator: "\n").filter { filter.take($0) }
    for line in chosen.suffix(max(0, lines)) { print(line) }
    guard follow else { return }
    fflush(nil)
    try await follow(path, from: data.count, filter)
  }

  private func known(_ surroundings: CommandLineEnvironment) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: surroundings.home.logs)) ?? []
    return names.filter { $0.hasSuffix(".log") }.map { String($0.dropLast(4)) }.sorted()
  }

  private func path(_ surroundings: CommandLineEnvironment) async throws -> String {
    guard let name else { return surroundings.home.daemonLog }
    let direct = surroundings.home.log(name)
    if access(direct, R_OK) == 0 { return direct }
    if let id = try await sessions(surroundings).first(where: { $0.name == name || $0.id.hasPrefix(name) })?.id {
      return surroundings.home.log("session-\(id)")
    }
    return direct
  }

  private func sessions(_ surroundings: CommandLineEnvironment) async throws -> [SessionStatus] {
    guard surroundings.connect() != nil else { return [] }
    return try await surroundings.ask(ControlStatus()).sessions
  }

  /// Ids of the sessions that `--session` names, or the beginning of an id. Sessions that have ended are known to no
  /// daemon, and remain in the log.
  private func sessionIDs(_ surroundings: CommandLineEnvironment) async throws -> [String] {
    guard let session else { return [] }
    let named = try await sessions(surroundings).filter { $0.name == session }.map(\.id)
    if !named.isEmpty { return named }
    guard !session.isEmpty, session.allSatisfy({ $0.isHexDigit || $0 == "-" }) else {
      StandardError.say(
        surroundings.isRunning
          ? "No session is named \(session); pi-relayd sessions lists them."
          : "No pi-relayd runs, and only it knows sessions by name. Give the beginning of the session's id instead of "
            + "\(session), or start one with: \(surroundings.command("start"))")
      throw ExitStatus.failed
    }
    return [session.lowercased()]
  }

  /// Prints the lines that are added, across the start of a new file.
  private func follow(_ path: String, from start: Int, _ filter: LogFilter) async throws {
    let changes = Mailbox<Void>(merge: { _, _ in true })
    let folder = path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
    let watch = try FolderWatch(folder: folder, alsoWrites: true) { changes.post(()) }
    defer { withExtendedLifetime(watch) {} }
    var filter = filter
    var position = start
    var unfinished: [UInt8] = []
    while await changes.next() != nil {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      defer { _ = close(descriptor) }
      if Int(lseek(descriptor, 0, SEEK_END)) < position { (position, unfinished) = (0, []) }
      lseek(descriptor, off_t(position), SEEK_SET)
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { break }
        position += count
        unfinished += buffer[..<count]
        guard let end = unfinished.lastIndex(of: 0x0A) else { continue }
        for line in unfinished[..<end].split(separator: 0x0A) {
          let line = String(decoding: line, as: UTF8.self)
          if filter.take(line) { print(line) }
        }
        unfinished.removeSubrange(...end)
        guard fflush(nil) == 0 else { return }
      }
    }
  }
}

extension Config.Logging.Level: ExpressibleByArgument {}
