internal import BridgeProtocol
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import RelayConcurrency
internal import RelayJSON
internal import RelayWire

/// The folder of bridges: sockets, registry files and files of events, all named by process ids and private to the user.
package struct BridgeFolder: Sendable, Equatable {
  package let path: String

  /// - Parameter path: absolute.
  package init(path: String) {
    self.path = path
  }

  /// `PI_BRIDGE_DIR`, the configured folder, or the protocol's own under the folder for temporary files.
  package init(configured: String?, environment: [String: String]) {
    if let named = environment["PI_BRIDGE_DIR"]?.trimmingWhitespace(), !named.isEmpty {
      path = URL(filePath: named).standardizedFileURL.path
    } else {
      path =
        configured
        ?? "\(URL(filePath: environment["TMPDIR"] ?? "/tmp").standardizedFileURL.path)/pi-session-bridge-\(getuid())"
    }
  }

  private var instances: String { path + "/instances" }
  private var raw: String { path + "/raw" }

  func socket(_ pid: Int32) -> String { "\(path)/pi-\(pid).sock" }
  func registryFile(_ pid: Int32) -> String { "\(instances)/\(pid).json" }
  func journal(_ pid: Int32) -> String { "\(raw)/\(pid).jsonl" }

  /// A folder that no bridge can use, and what to do about it.
  package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }

  /// Longest path of a Unix socket, without the terminating zero.
  private static let maximumSocketPath = 107

  /// Makes the folders, and removes the files of processes that are gone.
  ///
  /// - Returns: the processes that have files and live.
  @discardableResult
  package func prepare() throws(Failure) -> Set<Int32> {
    guard socket(.max).utf8.count <= Self.maximumSocketPath else {
      throw Failure(
        description: "the folder of bridges has too long a path for sockets: \(path); set bridge.directory or "
          + "PI_BRIDGE_DIR to a shorter one")
    }
    for folder in [path, instances, raw] { try makePrivate(folder) }
    return removeStale(among: pids())
  }

  /// A name under /tmp is predictable: a folder that another user has made first is refused.
  private func makePrivate(_ folder: String) throws(Failure) {
    if mkdir(folder, 0o700) != 0, errno != EEXIST {
      throw Failure(description: "\(SystemError("cannot be made", path: folder)); set bridge.directory to another one")
    }
    var status = stat()
    guard lstat(folder, &status) == 0 else {
      throw Failure(description: SystemError("cannot be read", path: folder).description)
    }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
      throw Failure(
        description: "\(folder) belongs to another user or is no folder; set bridge.directory or PI_BRIDGE_DIR to a "
          + "folder of your own")
    }
    // Its owner may have opened it to others on purpose.
    guard status.st_mode & 0o077 == 0 else {
      throw Failure(
        description: "\(folder) is open to others; run: chmod 700 \(folder), or set bridge.directory or "
          + "PI_BRIDGE_DIR to another folder")
    }
  }

  // MARK: - Registry files

  /// Writes a registry file: a reader sees the old one or the new one.
  func write(_ record: RegistryRecord) throws {
    let file = registryFile(record.pid)
    let temporary = file + ".new"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw SystemError("cannot be written", path: temporary) }
    let bytes = try JSONCoding.encode(record) + [UInt8(ascii: "\n")]
    let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    let failure = count == bytes.count ? nil : SystemError("cannot be written", path: temporary)
    _ = close(descriptor)
    if let failure {
      _ = unlink(temporary)
      throw failure
    }
    guard rename(temporary, file) == 0 else { throw SystemError("cannot be replaced", path: file) }
  }

  /// Removes everything of one process.
  func remove(_ pid: Int32) {
    // A file that is not there, or that its process has removed, is as wanted.
    for file in [registryFile(pid), socket(pid), journal(pid)] { _ = unlink(file) }
  }

  // MARK: - Stale files

  private struct Identity: Decodable {
    var pid: Int32
    var processStartTime: UInt64?
  }

  /// A process that was killed leaves its files; a process id that another process has now is no sign of life.
  ///
  /// - Returns: the processes that live.
  func removeStale(among pids: Set<Int32>) -> Set<Int32> {
    let living = pids.filter(isAlive)
    for pid in pids.subtracting(living) { remove(pid) }
    return living
  }

  private func pids() -> Set<Int32> {
    func names(_ folder: String, _ prefix: String, _ suffix: String) -> [Int32] {
      // A folder that cannot be listed has nothing that could be removed.
      ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap { name in
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        return Int32(name.dropFirst(prefix.count).dropLast(suffix.count))
      }
    }
    return Set(names(instances, "", ".json") + names(raw, "", ".jsonl") + names(path, "pi-", ".sock"))
  }

  /// A process that has ended keeps its number until its parent has noticed.
  private func hasEnded(_ pid: Int32) -> Bool {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
    // The program's name, in parentheses, may hold anything.
    let state = text.split(separator: ")").last?.first { $0 != " " }
    return state == "Z" || state == "X"
  }

  private func isAlive(_ pid: Int32) -> Bool {
    guard pid > 0, kill(pid, 0) == 0 || errno == EPERM, !hasEnded(pid) else { return false }
    guard let data = try? Data(contentsOf: URL(filePath: registryFile(pid))),
      let identity = try? JSONCoding.decode(Identity.self, from: [UInt8](data)), let start = identity.processStartTime
    else { return true }
    return start == relay_process_start_time(pid)
  }
}
