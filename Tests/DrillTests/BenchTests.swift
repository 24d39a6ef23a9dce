import FoundationEssentials
import Glibc
import ProcessSupervision
import TestSupport
import Testing

private let sources = URL(filePath: #filePath).deletingLastPathComponent().path + "/../.."

private func bench(_ arguments: String...) async throws -> Command {
  try await Command.run(
    "/usr/bin/env", ["python3", "\(sources)/scripts/bench"] + arguments,
    environment: ProcessInfo.processInfo.environment)
}

/// The benchmark's own promises; `make test` runs every part of it once.
@Suite(.timeLimit(.minutes(2))) struct BenchTests {
  @Test func `after a part fails, its daemon is ended, and a process left behind is named and killed`() async throws {
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
    let run = try await bench("--quick", "--programs", programs.path, "scale", "store")
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

/// The verdicts of the benchmark on forged figures.
@Suite(.timeLimit(.minutes(2))) struct BenchGoalTests {
  /// A figure that has a goal.
  private struct Goal: Equatable {
    let figure, sign: String
    let bound: Double

    /// The worst value that meets the goal.
    var justMet: Double { bound }
    var justMissed: Double { sign == "<=" ? bound + 0.001 : bound - 0.001 }
  }

  /// All goals, read from the table that a run without figures prints.
  private func goals() async throws -> [Goal] {
    let run = try await judge([:])
    #expect(run.exit == .exited(1), "A goal without a figure is not met.")
    let goals = run.output.compactMap { line -> Goal? in
      let words = line.split(separator: " ").map(String.init)
      guard words.suffix(2) == ["not", "measured"], words.count == 6, let bound = Double(words[3]) else { return nil }
      return Goal(figure: words[0], sign: words[2], bound: bound)
    }
    try #require(goals.count >= 30, "\(run.output)")
    return goals
  }

  private func judge(_ figures: [String: Double]) async throws -> Command {
    let folder = try TemporaryFolder()
    let file = try folder.write(
      "figures.json", "{" + figures.map { "\"\($0)\": \($1)" }.joined(separator: ", ") + "}")
    return try await bench("--judge", file)
  }

  @Test func `a run fails and names the figure when any single goal is missed`() async throws {
    let goals = try await goals()
    let met = Dictionary(uniqueKeysWithValues: goals.map { ($0.figure, $0.justMet) })
    let passed = try await judge(met)
    #expect(passed.exit == .exited(0), "\(passed.output)")
    #expect(passed.output.filter { $0.hasSuffix(" met") }.count == goals.count, "\(passed.output)")
    for goal in goals {
      let run = try await judge(met.merging([goal.figure: goal.justMissed]) { $1 })
      #expect(run.exit == .exited(1), "\(goal)")
      let missed = run.output.filter { $0.hasSuffix(" MISSED") }.map { $0.split(separator: " ").first.map(String.init) }
      #expect(missed == [goal.figure])
    }
  }

  @Test func `a figure that misses its goal while it is measured fails the run`() async throws {
    let programs = try TemporaryFolder()
    try FileManager.default.createSymbolicLink(
      atPath: programs.path + "/pi-relay-guardian", withDestinationPath: Built.executable("pi-relay-guardian"))
    // A reader that is far slower than a pipe.
    try programs.write(
      "pi-relay-bench",
      """
      #!/bin/sh
      case $1 in
      generate) echo '{"assistantMessageEvent":{"type":"text_delta","delta":"abc"}}' ;;
      read) cat >/dev/null; sleep 0.2; echo 3 ;;
      esac
      """, executable: true)
    let run = try await bench("--programs", programs.path, "--output", programs.path + "/figures.json", "readers")
    #expect(run.exit == .exited(1), "\(run.errors)")
    let missed = try #require(run.errors.last { $0.hasPrefix("Missed: ") }, "\(run.errors)")
    #expect(missed.contains("delta.time_vs_pipe") && missed.contains("cumulative.time_vs_pipe"))
    let again = try await bench("--judge", programs.path + "/figures.json", "readers")
    #expect(
      again.exit == .exited(1) && again.output.contains { $0.contains("delta.time_vs_pipe") && $0.hasSuffix("MISSED") })
  }

  @Test func `the table of goals in the documentation states the goals that are judged`() async throws {
    let text = try String(contentsOf: URL(filePath: sources + "/docs/performance.md"), encoding: .utf8)
    let row = try Regex(#"\n\| \**`([a-z0-9_.]+)`[^|]*\| ([≤≥]) ([0-9.]+) \|"#)
    let documented = text.matches(of: row).compactMap { match -> Goal? in
      guard let figure = match.output[1].substring, let bound = match.output[3].substring.flatMap({ Double($0) })
      else { return nil }
      return Goal(figure: String(figure), sign: match.output[2].substring == "≤" ? "<=" : ">=", bound: bound)
    }
    let judged = try await goals()
    #expect(documented.map(\.figure).sorted() == judged.map(\.figure).sorted())
    for goal in judged { #expect(documented.first { $0.figure == goal.figure } == goal) }
  }
}
