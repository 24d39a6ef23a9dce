internal import FoundationEssentials
internal import Glibc

/// Processes that a plugin has started outside its group and that have outlived it.
enum Leftovers {
  /// Kills the remaining processes. A process that is just exiting gets a moment.
  ///
  /// - Returns: the fault; `nil` where no process remained.
  static func end(clock: any Clock<Duration>) async -> String? {
    if await Waiting.wait(.seconds(2), clock, until: { found.isEmpty }) { return nil }
    let left = found
    guard let first = left.first else { return nil }
    let command = read("/proc/\(first)/cmdline").map { String(decoding: $0, as: UTF8.self) } ?? ""
    let words = command.split(separator: "\0").joined(separator: " ")
    for pid in left { _ = kill(pid, SIGKILL) }
    return "process \(first) still ran 2 s after the plugin had ended: \(words)"
  }

  private static var found: [Int32] {
    let marker = Array(PluginProbe.marker.utf8)
    let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int32($0) } ?? []
    return processes.filter { pid in
      // A process that has ended meanwhile, or is another user's, cannot be read, and is none of ours.
      pid != getpid() && read("/proc/\(pid)/environ")?.split(separator: 0).contains { $0.elementsEqual(marker) } == true
    }
  }

  private static func read(_ path: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path).map { [UInt8]($0) }
  }
}

/// A wait for what nothing announces.
enum Waiting {
  /// - Returns: whether it came true within the limit.
  static func wait(_ limit: Duration, _ clock: any Clock<Duration>, until isTrue: () -> Bool) async -> Bool {
    let step: Duration = .milliseconds(20)
    var waited: Duration = .zero
    while !isTrue() {
      guard waited < limit else { return false }
      do {
        try await clock.sleep(for: step)
      } catch {
        return false  // cancelled
      }
      waited += step
    }
    return true
  }
}
