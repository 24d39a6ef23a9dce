internal import FoundationEssentials
internal import Glibc
package import RelayConcurrency

/// Where a daemon keeps its things: one home, private to its user.
package struct HomeDirectory: Sendable, Equatable {
  package let path: String

  package init(path: String) {
    self.path = path
  }

  package static let homeVariable = "PI_RELAY_HOME"

  /// `$PI_RELAY_HOME`, or `~/.pi/agent/relay`.
  package init(environment: [String: String]) {
    if let home = environment[Self.homeVariable], !home.isEmpty {
      self.path = home.hasPrefix("/") ? home : FileManager.default.currentDirectoryPath + "/" + home
    } else {
      self.path = (environment["HOME"] ?? "/") + "/.pi/agent/relay"
    }
  }

  package var plugins: String { path + "/plugins" }
  package var logs: String { path + "/logs" }
  package var run: String { path + "/run" }
  package var state: String { path + "/state" }
  /// Everything that must survive.
  package var database: String { state + "/relay.db" }
  /// The texts that growing messages show.
  package var streams: String { state + "/streams" }
  /// The control socket: in the home, or under /tmp where its path would be too long for a socket there.
  package var socket: String {
    let usual = run + "/control.sock"
    return usual.utf8.count <= Self.maximumSocketPath ? usual : "\(Self.shortFolder)/\(fingerprint).sock"
  }
  /// Holds the path of the control socket where that is not in the home, for programs that do not compute it.
  package var socketPathFile: String { run + "/control.path" }
  package var lock: String { run + "/lock" }
  package var daemonLog: String { logs + "/pi-relayd.log" }
  /// Session files for releases of pi that cannot be given an id.
  package var sessions: String { state + "/sessions" }
  /// Session files of assistants.
  package var assistantSessions: String { state + "/assistant" }

  /// The configuration: in the home, or beside it.
  package var configurationCandidates: [String] {
    [path + "/relay.yaml", path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/relay.yaml"]
  }

  package func log(_ name: String) -> String { "\(logs)/\(Self.fileName(name)).log" }
  package func spool(_ instance: String) -> String { "\(state)/spool/\(Self.fileName(instance))" }
  package func data(_ instance: String) -> String { "\(state)/plugins/\(Self.fileName(instance))" }

  /// A plugin's name never contains "+", so that no two instances share a file.
  static func fileName(_ name: String) -> String { name.replacing("/", with: "+") }

  /// Removes what an instance kept. For terminals, which come back under other names.
  package func remove(_ instance: String) {
    // A folder that cannot be removed, or was never made, does no harm.
    for folder in [spool(instance), data(instance)] { try? FileManager.default.removeItem(atPath: folder) }
  }

  package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
    package init(_ failure: SystemError) { description = failure.description }
  }

  /// Longest path of a Unix socket, without the terminating zero.
  static let maximumSocketPath = 107

  /// Makes everything that is missing.
  package func prepare() throws(Failure) {
    for folder in [path, plugins, logs, run, state, sessions, streams] { try makePrivate(folder) }
    guard !socket.hasPrefix(run) else { return }
    try makePrivate(Self.shortFolder)
    do {
      try Data((socket + "\n").utf8).write(to: URL(filePath: socketPathFile), options: .atomic)
    } catch {
      throw Failure(description: "\(socketPathFile) cannot be written: \(error)")
    }
  }

  private static var shortFolder: String { "/tmp/pi-relay-\(geteuid())" }

  /// A name for this home that is the same in every program: FNV-1a of its path.
  private var fingerprint: String {
    let hash = path.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }

  /// Makes a folder for this user only, with its parents; an existing one is made private.
  package func makePrivate(_ folder: String) throws(Failure) {
    var made = ""
    for part in folder.split(separator: "/") {
      made += "/" + part
      if mkdir(made, 0o700) != 0, errno != EEXIST, errno != EISDIR {
        throw Failure(SystemError("cannot be made", path: made))
      }
    }
    var status = Glibc.stat()
    guard stat(folder, &status) == 0 else {
      throw Failure(SystemError("cannot be read", path: folder))
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw Failure(description: "\(folder) is not a folder; move it away")
    }
    guard status.st_uid == geteuid() else {
      throw Failure(description: "\(folder) belongs to another user; set PI_RELAY_HOME to a folder of your own")
    }
    if status.st_mode & 0o077 != 0, chmod(folder, 0o700) != 0 {
      throw Failure(description: "\(folder) is open to others and cannot be made private; run: chmod 700 \(folder)")
    }
    guard access(folder, R_OK | W_OK | X_OK) == 0 else {
      throw Failure(SystemError("cannot be written", path: folder))
    }
  }
}

/// The product that this build is.
package enum Product {
  package static let version = "0.1.0"
}
