import FoundationEssentials
import Glibc
import ProcessSupervision
import TestSupport
import Testing

/// The benchmark's own promises; `make test` runs every part of it once.
@Suite(.timeLimit(.minutes(2))) struct BenchTests {
  @Test func `a part that fails ends its daemon, and a process left behind is named and killed`() async throws {
    let programs = try TemporaryFolder()
    for name in try FileManager.default.contentsOfDirectory(atPath: Built.folder) where name.hasPrefix("pi-relay") {
      try FileManager.default.createSymbolicLink(
        atPath: "\(programs.path)/\(name)", withDestinationPath: "\(Built.folder)/\(name)")
    }
    // An agent that answers nothing, and leaves a process that has turned itself into a daemon.
    let left = "600.\(getpid())"
    let isThere = programs.path + "/isThere"
    try programs.write(
      "pi-relay-demo-agent",
      """
      #!/bin/sh
      (setsid sh -c 'touch \(isThere); exec sleep \(left)' </dev/null >/dev/null 2>&1 &)
      until [ -e \(isThere) ]; do sleep 0.01; done
      exit 1
      """, executable: true)
    let source = URL(filePath: #filePath).deletingLastPathComponent().path
    let run = try await Command.run(
      "/usr/bin/env",
      ["python3", "\(source)/../../scripts/bench", "--quick", "--programs", programs.path, "scale", "store"],
      environment: ProcessInfo.processInfo.environment)
    #expect(run.exit == .exited(1), "\(run.errors)")
    #expect(run.errors.contains { $0.hasPrefix("FAILED scale: ") }, "\(run.errors)")
    let named = try #require(run.errors.last { $0.hasPrefix("FAILED scale: left processes behind: ") }, "\(run.errors)")
    #expect(named.contains("sleep \(left)") && !named.contains("pi-relayd"), "\(named)")
    // The next part is measured all the same.
    #expect(run.output.contains { $0.contains("store.acknowledged_per_second") }, "\(run.output)")
    let found = try await Command.run("/usr/bin/pgrep", ["-f", "sleep \(left)"], environment: [:])
    #expect(found.output == [])
  }
}
