import FoundationEssentials
import Glibc
import ProcessSupervision
package import TestSupport

/// The library of ours that is preloaded into programs: it counts, kills, writes down what they do, and lets calls fail.
package enum Interposer {
  /// Builds the library with whatever C compiler there is.
  package static func build(in folder: String) async throws -> String {
    let source =
      URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path
      + "/interposer/interposer.c"
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let home = path.split(separator: ":")
    guard
      let compiler = ["clang", "cc", "gcc"].flatMap({ name in home.map { "\($0)/\(name)" } })
        .first(where: { (path: String) in access(path, X_OK) == 0 })
    else { throw DrillFailure("there is no C compiler (clang, cc or gcc) on PATH") }
    let library = folder + "/interposer.so"
    let result = try await Command.run(
      compiler, ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], environment: ["PATH": path])
    guard result.exit == .exited(0) else { throw DrillFailure("\(source): \(result.errors.joined(separator: "\n"))") }
    return library
  }

  /// Programs whose daemon writes down what it reads, writes and flushes.
  package static func tracing(to file: String, library: String) -> Programs {
    Programs(
      folder: Built.folder, environment: ["LD_PRELOAD": library, "PI_RELAY_TRACE": "\(file):pi-relayd"])
  }

  /// Environment that shifts a program's time of day by the seconds in `file`, which holds eight bytes.
  package static func shifting(_ program: String, by file: String, library: String) -> [String: String] {
    ["LD_PRELOAD": library, "PI_RELAY_CLOCK": "\(file):\(program)"]
  }

  /// A daemon whose time of day is shifted by the seconds in `file`, which holds eight bytes.
  static func shifting(by file: String, library: String) -> Programs {
    Programs(folder: Built.folder, environment: shifting("pi-relayd", by: file, library: library))
  }

  /// Programs whose daemon's calls fail.
  ///
  /// - Parameters:
  ///   - path: part of the path of the file that is concerned.
  ///   - first: the call that fails first, counted from 1.
  ///   - file: they fail only while it exists.
  package static func failing(
    _ call: String, with error: Int32, on path: String, first: Int = 1, count: Int = 1_000_000, library: String,
    while file: String? = nil
  ) -> Programs {
    var environment = [
      "LD_PRELOAD": library, "PI_RELAY_FAULT": "\(call):\(error):\(path):\(first):\(count):pi-relayd",
    ]
    environment["PI_RELAY_FAULT_WHEN"] = file
    return Programs(folder: Built.folder, environment: environment)
  }
}
