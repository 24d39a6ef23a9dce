internal import AgentRuntime
internal import AgentSessions
internal import FoundationEssentials
internal import Glibc
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayText
internal import RelayWire

extension Workplace {
  /// The kind of container that this machine is: `docker`, `podman`, `lxc`, `systemd-nspawn`, …; `nil` outside of one.
  ///
  /// - Parameter read: the text of a file; `nil` where there is none.
  static func container(read: (_ path: String) -> String? = Workplace.text) -> String? {
    // systemd inside the container writes what it was told by what began it.
    if let kind = read("/run/systemd/container").map({ SafeText.line($0) }), !kind.isEmpty { return kind }
    if read("/.dockerenv") != nil { return "docker" }
    if let about = read("/run/.containerenv") {
      let engine = about.split(separator: "\n").first { $0.hasPrefix("engine=") }?.dropFirst("engine=".count)
      // engine="podman-4.3.1"
      let name = engine.map { $0.filter { $0 != "\"" }.prefix { $0 != "-" } } ?? ""
      return name.isEmpty ? "podman" : SafeText.line(String(name))
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

extension SessionHost {
  /// `git` may have to look through many files.
  private static let changesLimit: Duration = .seconds(3)

  /// The uncommitted changes of a folder's repository, in words; `nil` where `git` does not say in time.
  func changes(in folder: String) async -> String? {
    guard let git = AgentProbe.resolve("git", searchPath: dependencies.environment["PATH"] ?? "") else { return nil }
    let environment = ChildEnvironment.plugin(
      from: dependencies.environment, markers: dependencies.guardian.map { [$0.marker] } ?? [])
    // It only looks: nothing is locked or written, and neither a hook nor a monitor of files is run.
    let arguments = [
      "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "status", "--porcelain",
    ]
    do {
      let run = try await CapturedRun(
        .init(
          name: "git status", path: git, arguments: arguments, environment: environment,
          directory: folder),
        guardian: dependencies.guardian, limit: Self.changesLimit, clock: dependencies.timekeeper.clock)
      guard run.exit == .exited(0) else { return nil }
      switch run.output.count {
      case 0: return "clean"
      case 1: return "1 change that is not committed"
      case CapturedRun.mostLines...: return "\(CapturedRun.mostLines) or more changes that are not committed"
      case let count: return "\(count) changes that are not committed"
      }
    } catch {
      tell("git status in \(folder) could not be run: \(error)")
      return nil
    }
  }
}
