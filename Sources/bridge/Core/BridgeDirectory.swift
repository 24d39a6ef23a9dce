internal import BridgeProtocol
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import RelayJSON
internal import RelayWire

/// The folder in which bridges leave their registry files.
package struct BridgeDirectory: Sendable, Equatable {
  package let path: String

  /// - Parameter chosen: a folder that the caller names, which beats `PI_BRIDGE_DIR` and the protocol's own.
  package init(chosen: String?, environment: [String: String]) {
    let named = chosen ?? environment["PI_BRIDGE_DIR"]?.trimmingWhitespace()
    path =
      if let named, !named.isEmpty {
        URL(filePath: named).standardizedFileURL.path
      } else {
        "\((environment["TMPDIR"] ?? "/tmp").trimmingSlashes)/pi-session-bridge-\(getuid())"
      }
  }

  /// The registered bridges, by process id.
  ///
  /// - Throws: `BridgeError` for a folder that cannot be read, or that another user could have prepared.
  package func listings() throws(BridgeError) -> [BridgeListing] {
    let folder = path + "/instances"
    var names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      guard access(folder, F_OK) != 0, errno == ENOENT else { throw BridgeError("\(folder) cannot be read: \(error)") }
      return []
    }
    for folder in [path, folder] { try requireOwn(folder) }
    names = names.filter { $0.hasSuffix(".json") }
    return names.compactMap { BridgeListing(file: "\(folder)/\($0)") }.sorted { $0.pid < $1.pid }
  }

  /// A name under /tmp is predictable: another user who creates the folder first could offer sockets of their own.
  private func requireOwn(_ folder: String) throws(BridgeError) {
    var status = stat()
    guard lstat(folder, &status) == 0 else { return }
    guard status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
      throw BridgeError(
        "\(folder) belongs to another user or can be written by others, so its bridges are not trusted. "
          + "Name another folder with --bridge-dir or PI_BRIDGE_DIR.")
    }
  }
}

/// A registered bridge.
package struct BridgeListing: Sendable {
  private struct Fields: Decodable {
    var `protocol`: String?
    var pid: Int32
    var cwd: String?
    var sessionId: String?
    var sessionFile: String?
    var sessionName: String?
    var isIdle: Bool?
    var socketPath: String?
    var processStartTime: UInt64?
  }

  private let fields: Fields
  private let text: [UInt8]
  package let isAlive: Bool
  package let socketExists: Bool

  /// - Returns: `nil` for a file that is gone, or is no registry file.
  init?(file: String) {
    guard let data = try? Data(contentsOf: URL(filePath: file)),
      let fields = try? JSONCoding.decode(Fields.self, from: [UInt8](data)), fields.pid > 0
    else { return nil }
    self.fields = fields
    text = [UInt8](data)
    isAlive = Self.isAlive(fields.pid, since: fields.processStartTime)
    socketExists = fields.socketPath.map { access($0, F_OK) == 0 } ?? false
  }

  package var pid: Int32 { fields.pid }
  package var session: String? { fields.sessionId }
  package var sessionFile: String? { fields.sessionFile }
  package var name: String? { fields.sessionName }
  package var directory: String? { fields.cwd }
  package var isIdle: Bool? { fields.isIdle }
  package var socket: String? { fields.socketPath }

  /// Indicates that nothing answers there, or that it speaks another protocol.
  package var isStale: Bool { !isAlive || !socketExists || fields.protocol != BridgeProtocol.version }

  /// A process of another user is alive, too. A process that started at another time only has the same number.
  private static func isAlive(_ pid: Int32, since start: UInt64?) -> Bool {
    guard kill(pid, 0) == 0 || errno == EPERM else { return false }
    return start.map { $0 == relay_process_start_time(pid) } ?? true
  }

  /// The registry file's object with the facts found out here.
  package var json: [UInt8] {
    let object = text[...(text.lastIndex(of: UInt8(ascii: "}")) ?? text.startIndex)].dropLast()
    return object + Array(#","alive":\#(isAlive),"socketExists":\#(socketExists),"stale":\#(isStale)}"#.utf8)
  }
}

extension String {
  fileprivate var trimmingSlashes: String {
    var text = self[...]
    while text.count > 1, text.last == "/" { text = text.dropLast() }
    return String(text)
  }
}
