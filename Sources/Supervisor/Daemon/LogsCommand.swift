import ArgumentParser
import CLinux
import FoundationEssentials
import Glibc
internal import PluginRuntime
import RelayConcurrency
internal import RelayHome
internal import RelayModel
import RelayTransport
import Supervisor

struct Logs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a log: the daemon's, a plugin's or a session's.",
    discussion: "Sessions are named by their name or the beginning of their id.")

  @Argument(help: "A plugin or session; nothing for the daemon itself.") var name: String?
  @Flag(name: [.customShort("f"), .long], help: "Go on with new lines as they come.") var follow = false
  @Option(name: [.customShort("n"), .long], help: "How many lines to begin with.") var lines = 50

  func run() async throws {
    let surroundings = Surroundings()
    let path = try await path(surroundings)
    guard let data = FileManager.default.contents(atPath: path) else {
      StandardError.say("There is no log \(path) yet. Logs there are: \(known(surroundings).joined(separator: ", "))")
      throw ExitStatus.failed
    }
    let all = String(decoding: data, as: UTF8.self).split(separator: "\n")
    for line in all.suffix(max(0, lines)) { print(line) }
    guard follow else { return }
    fflush(nil)
    try await follow(path, from: data.count)
  }

  private func known(_ surroundings: Surroundings) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: surroundings.folders.logs)) ?? []
    return names.filter { $0.hasSuffix(".log") }.map { String($0.dropLast(4)) }.sorted()
  }

  private func path(_ surroundings: Surroundings) async throws -> String {
    guard let name else { return surroundings.folders.daemonLog }
    let direct = surroundings.folders.log(name)
    if access(direct, R_OK) == 0 { return direct }
    if surroundings.connect() != nil {
      let sessions = try await surroundings.ask(ControlStatus()).sessions
      if let session = sessions.first(where: { $0.name == name || $0.id.hasPrefix(name) }) {
        return surroundings.folders.log("session-\(session.id)")
      }
    }
    return direct
  }

  /// Prints what is added, across the log's being begun anew.
  private func follow(_ path: String, from start: Int) async throws {
    let changes = Mailbox<Void>(merge: { _, _ in true })
    let folder = path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
    let watch = try FolderWatch(folder: folder, alsoWrites: true) { changes.post(()) }
    defer { withExtendedLifetime(watch) {} }
    var position = start
    while await changes.next() != nil {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      defer { _ = close(descriptor) }
      if Int(lseek(descriptor, 0, SEEK_END)) < position { position = 0 }
      lseek(descriptor, off_t(position), SEEK_SET)
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { break }
        position += count
        guard write(1, buffer, count) == count else { return }
      }
    }
  }
}
