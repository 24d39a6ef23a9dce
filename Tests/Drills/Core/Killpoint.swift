import FoundationEssentials
import Glibc
import RelayConcurrency
package import TestSupport

/// The programs that a drill kills.
package enum Victim: Int, CaseIterable, Sendable {
  case daemon, guardian, messenger, formatter, attachments, pi

  /// The names of its executable, which is the plugin's where it was dropped in.
  var programs: Set<String> { self == .messenger ? [program, "fake"] : [program] }

  /// There the messenger of other drills says nothing.
  var programsAtDiscord: Set<String> { self == .messenger ? [Self.discord] : [program] }

  /// The messenger of the drill at Discord.
  static let discord = "pi-relay-discord"

  var program: String {
    switch self {
    case .daemon: "pi-relayd"
    case .guardian: "pi-relay-guardian"
    case .messenger: "splice"
    case .formatter: "pi-relay-formatter"
    case .attachments: "pi-relay-attachments"
    case .pi: "pi-relay-demo-agent"
    }
  }
}

/// Counts the boundaries (writes, sends, flushes, renames, spawns) of each program over all its threads and lives, and kills
/// one at a chosen boundary. By a library of ours that is preloaded into them.
package final class Killpoint: @unchecked Sendable {
  // The mapping is shared with other processes; what is read and written are single words.
  private struct Row {
    var count: UInt
    var limit: UInt
    var fired: UInt
  }

  private static let rows = 16
  private let folder: TemporaryFolder
  private let library: String?
  private let table: UnsafeMutablePointer<Row>

  package init(library: String?) throws {
    self.library = library
    folder = try TemporaryFolder()
    let size = Self.rows * MemoryLayout<Row>.stride
    let file = open(folder.path + "/rows", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(file) }
    guard file >= 0, ftruncate(file, off_t(size)) == 0,
      let mapping = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), mapping != MAP_FAILED
    else { throw DrillFailure("the table of boundaries cannot be made: \(SystemError.reason())") }
    table = mapping.bindMemory(to: Row.self, capacity: Self.rows)
  }

  deinit { munmap(table, Self.rows * MemoryLayout<Row>.stride) }

  package func arm(_ victim: Victim, at boundary: Int) { table[victim.rawValue].limit = UInt(boundary) }

  /// For another kill of the same program.
  func disarm(_ victim: Victim) {
    table[victim.rawValue].limit = 0
    table[victim.rawValue].fired = 0
  }

  package func count(of victim: Victim) -> Int { Int(table[victim.rawValue].count) }

  package func hasFired(_ victim: Victim) -> Bool { table[victim.rawValue].fired != 0 }

  private func variables(_ victim: Victim, program: String) -> [String: String] {
    guard let library else { return [:] }
    return ["LD_PRELOAD": library, "PI_RELAY_KILLPOINT": "\(folder.path)/rows:\(victim.rawValue):\(program)"]
  }

  /// The daemon's program alone, as it was built, is counted.
  package var daemonAlone: Programs {
    Programs(folder: Built.folder, environment: variables(.daemon, program: Victim.daemon.program))
  }

  var daemon: String { "\(folder.path)/bin/\(Victim.daemon.program)" }

  /// A folder of programs that are counted: the daemon itself, and a script for each of the others.
  ///
  /// - Parameter messenger: the program that counts as the messenger, and what it is called where it is used.
  func programs(messenger: (program: String, name: String) = ("splice", "fake")) throws -> Programs {
    let target = folder.path + "/bin"
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
    if link(Built.executable(Victim.daemon.program), daemon) != 0 {
      try FileManager.default.copyItem(atPath: Built.executable(Victim.daemon.program), toPath: daemon)
    }
    for victim in Victim.allCases where victim != .daemon {
      let isMessenger = victim == .messenger
      try write(
        isMessenger ? messenger.program : victim.program,
        variables(victim, program: isMessenger ? messenger.name : victim.program))
    }
    // A plugin that a fixture needs though nothing is said through it.
    if messenger.program != Victim.messenger.program { try write(Victim.messenger.program, [:]) }
    return Programs(folder: target, environment: variables(.daemon, program: Victim.daemon.program))
  }
}

extension Killpoint {
  private func write(_ program: String, _ settings: [String: String]) throws {
    let settings = settings.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
    try folder.write(
      "bin/\(program)", "#!/bin/bash\n\(settings) exec -a \"$0\" '\(Built.executable(program))' \"$@\"\n",
      executable: true)
  }
}

package struct DrillFailure: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
