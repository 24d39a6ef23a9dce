internal import FoundationEssentials
internal import Glibc

/// An executable found in a plugin folder.
package struct DiscoveredPlugin: Sendable, Equatable {
  package enum Origin: Sendable, Equatable { case bundled, dropped }

  /// Tells one version of a file from the next.
  package struct Stamp: Codable, Sendable, Equatable {
    var device: UInt
    var inode: UInt
    var size: Int
    var seconds: Int
    var nanoseconds: Int
  }

  package var name: String
  package var path: String
  package var origin: Origin
  package var stamp: Stamp
}

/// Finds plugins: the bundled ones, and those in the plugin folder.
package struct PluginDiscovery: Sendable {
  package let bundledFolder: String?
  package let droppedFolder: String
  /// Executables beside the daemon that are no plugins.
  private static let notPlugins: Set<String> = [
    "pi-relay-bench", "pi-relay-demo-agent", "pi-relay-drill", "pi-relay-guardian", "pi-relay-toml",
  ]
  private static let prefix = "pi-relay-"

  package init(bundledFolder: String?, droppedFolder: String) {
    self.bundledFolder = bundledFolder
    self.droppedFolder = droppedFolder
  }

  package struct Result: Sendable, Equatable {
    package var plugins: [DiscoveredPlugin] = []
    /// A line for the person for each file with a problem: the problem, and how to fix it.
    package var problems: [String] = []
  }

  /// Scans the folders. Names decide every collision, so that the same folders always give the same result; a file in
  /// the plugin folder wins over a bundled plugin.
  package func scan() -> Result {
    var result = Result()
    do {
      for name in try Self.names(in: droppedFolder) { consider(name, &result) }
    } catch {
      result.problems.append("\(droppedFolder) cannot be read; check its permissions")
    }
    if let bundledFolder {
      // `doctor` says where an installation has no plugins.
      for name in (try? Self.names(in: bundledFolder)) ?? []
      where name.hasPrefix(Self.prefix) && !Self.notPlugins.contains(name) {
        considerBundled(name, in: bundledFolder, &result)
      }
    }
    return result
  }

  private static func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  private func consider(_ file: String, _ result: inout Result) {
    guard !file.hasPrefix("."), !file.hasSuffix("~") else { return }
    let path = "\(droppedFolder)/\(file)"
    var status = stat()
    guard stat(path, &status) == 0 else {
      result.problems.append("plugins/\(file) is a link to nothing; remove or fix the link")
      return
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      result.problems.append("plugins/\(file) is not a file; put the plugin's executable itself there")
      return
    }
    for ending in [".part", ".tmp", ".swp", ".md", ".txt"] where file.hasSuffix(ending) { return }
    guard access(path, X_OK) == 0 else {
      result.problems.append("plugins/\(file) is not executable; run: chmod +x \(path)")
      return
    }
    guard status.st_size > 0 else {
      result.problems.append("plugins/\(file) is empty; it starts once it has been copied")
      return
    }
    let name = Self.pluginName(file)
    guard Self.isValid(name) else {
      result.problems.append(
        "plugins/\(file): the name \"\(name)\" may hold only a–z, 0–9, - and _ and at most 32 of them; rename the file")
      return
    }
    if let other = result.plugins.first(where: { $0.name == name }) {
      result.problems.append("plugins/\(file) is ignored: \(other.path) has the name \"\(name)\" already")
      return
    }
    result.plugins.append(
      DiscoveredPlugin(name: name, path: path, origin: .dropped, stamp: Self.stamp(status)))
  }

  private func considerBundled(_ file: String, in folder: String, _ result: inout Result) {
    let path = "\(folder)/\(file)"
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(path, X_OK) == 0 else { return }
    let name = Self.pluginName(file)
    guard Self.isValid(name) else { return }
    if let other = result.plugins.first(where: { $0.name == name }) {
      result.problems.append("\(other.path) is used instead of the \"\(name)\" plugin that came with pi-relay")
      return
    }
    result.plugins.append(
      DiscoveredPlugin(name: name, path: path, origin: .bundled, stamp: Self.stamp(status)))
  }

  static func pluginName(_ file: String) -> String {
    var name = file[...]
    if name.hasPrefix(prefix) { name = name.dropFirst(prefix.count) }
    if let dot = name.firstIndex(of: ".") { name = name[..<dot] }
    return String(name)
  }

  package static func isValid(_ name: String) -> Bool {
    (1...32).contains(name.utf8.count) && !["attached", "pi-relayd", "start"].contains(name)
      && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x5F }
  }

  private static func stamp(_ status: stat) -> DiscoveredPlugin.Stamp {
    DiscoveredPlugin.Stamp(
      device: UInt(status.st_dev), inode: UInt(status.st_ino), size: Int(status.st_size),
      seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
  }
}
