internal import FoundationEssentials
internal import Glibc
internal import RelayText
internal import RelayWire

/// The machine that the daemon runs on: its container and its disks.
enum Machine {
  /// The kind of container that this machine is: `docker`, `podman`, `lxc`, `systemd-nspawn`, …; `nil` outside of one.
  ///
  /// - Parameter read: the text of a file; `nil` where there is none.
  static func container(read: (_ path: String) -> String? = Machine.text) -> String? {
    // systemd inside the container writes the name of the container's manager there.
    if let kind = read("/run/systemd/container").map({ TextSanitizer.line($0) }), !kind.isEmpty { return kind }
    if read("/.dockerenv") != nil { return "docker" }
    if let about = read("/run/.containerenv") {
      let engine = about.split(separator: "\n").first { $0.hasPrefix("engine=") }?.dropFirst("engine=".count)
      // engine="podman-4.3.1"
      let name = engine.map { $0.filter { $0 != "\"" }.prefix { $0 != "-" } } ?? ""
      return name.isEmpty ? "podman" : TextSanitizer.line(String(name))
    }
    let groups = (read("/proc/self/cgroup") ?? "").split(whereSeparator: { "/\n".contains($0) })
    let kinds = [("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc"), ("kubepods", "kubernetes")]
    // `docker/ID`, `docker-ID.scope`, `lxc.payload.NAME`; but not `docker.service`, which is no container.
    return kinds.first { sign, _ in
      groups.contains { group in
        group == sign || group.hasPrefix(sign + "-") || group.hasPrefix(sign + ".payload")
          || group == sign + ".slice"
      }
    }?.1
  }

  private static func text(of path: String) -> String? {
    FileManager.default.contents(atPath: path).map { String(decoding: $0.prefix(10_000), as: UTF8.self) }
  }

  // MARK: - Disks

  /// How much of a disk is free, in bytes.
  struct Space: Equatable {
    let free: UInt64
    let total: UInt64

    /// Less than a twentieth is free, and less than 5 GB.
    var isNearlyUsedUp: Bool { total > 0 && free < min(total / 20, 5_000_000_000) }

    var description: String { "\(ByteCount(Int(clamping: free))) free of \(ByteCount(Int(clamping: total)))" }
  }

  /// A line for each disk that is nearly full, of those that hold these folders.
  static func fullDisks(of folders: [String]) -> [String] {
    var known: Set<UInt64> = []
    return folders.compactMap { folder in
      var status = stat()
      var disk = statvfs()
      guard stat(folder, &status) == 0, known.insert(UInt64(status.st_dev)).inserted, statvfs(folder, &disk) == 0
      else { return nil }
      let block = UInt64(disk.f_frsize)
      let space = Space(free: UInt64(disk.f_bavail) * block, total: UInt64(disk.f_blocks) * block)
      return space.isNearlyUsedUp ? "⚠️ The disk of \(folder) is nearly full: \(space.description)" : nil
    }
  }
}
