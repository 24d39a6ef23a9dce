import FoundationEssentials
import ProcessSupervision
import TestSupport
import Testing

/// The comparison with other supervisors in short: they take part where they are installed.
@Suite(.timeLimit(.minutes(2))) struct ComparisonTests {
  @Test func `a plugin that kills itself again and again loses no line and leaves no helper`() async throws {
    let source = URL(filePath: #filePath).deletingLastPathComponent().path
    let run = try await Command.run(
      "/usr/bin/env",
      ["python3", "\(source)/../../scripts/compare-supervisors", "--lives", "4", "--programs", Built.folder],
      environment: ProcessInfo.processInfo.environment)
    #expect(run.exit == .exited(0), "\(run.errors)")
    let row = run.output.first { $0.hasPrefix("| pi-relayd") }
    #expect(row?.hasSuffix("| 0 of 2000 | 0 |") == true, "\(run.output)")
  }
}
