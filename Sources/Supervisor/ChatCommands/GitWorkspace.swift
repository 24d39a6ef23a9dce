internal import AgentRuntime
package import AgentSessions
internal import FoundationEssentials
internal import Logging
internal import ProcessSupervision
internal import RelayConcurrency

/// The repository of a session's directory, as far as it is known without asking the agent.
package enum GitWorkspace {
  /// The branch of a folder's repository, or the commit of a detached head; `nil` outside of a repository.
  static func branch(of folder: String) -> String? {
    var folder = folder[...]
    while !folder.isEmpty {
      if let head = head(in: folder + "/.git") {
        let reference = "ref: refs/heads/"
        return head.hasPrefix(reference) ? String(head.dropFirst(reference.count)) : String(head.prefix(12))
      }
      folder = folder.prefix(upTo: folder.lastIndex(of: "/") ?? folder.startIndex)
    }
    return nil
  }

  /// A worktree's `.git` is a file that names the folder.
  private static func head(in path: Substring) -> String? {
    if let head = firstLine(of: path + "/HEAD") { return head }
    guard let line = firstLine(of: String(path)), line.hasPrefix("gitdir: ") else { return nil }
    return firstLine(of: line.dropFirst(8) + "/HEAD")
  }

  private static func firstLine(of path: some StringProtocol) -> String? {
    FileManager.default.contents(atPath: String(path)).flatMap { data in
      String(decoding: data.prefix(1_000), as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
    }
  }

  /// `git` may have to look through many files.
  private static let changesLimit: Duration = .seconds(3)

  /// The uncommitted changes of a folder's repository, in words; `nil` where `git` does not say in time.
  package static func changes(in folder: String, _ dependencies: SessionDependencies) async -> String? {
    guard let git = AgentLocator.resolve("git", searchPath: dependencies.environment["PATH"] ?? "") else { return nil }
    let environment = ChildEnvironment.plugin(
      from: dependencies.environment, markers: dependencies.guardian.map { [$0.marker] } ?? [])
    // It only looks: nothing is locked or written, and neither a hook nor a monitor of files is run.
    let arguments = [
      "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "status", "--porcelain",
    ]
    do {
      let run = try await ProcessOutput(
        .init(
          name: "git status", path: git, arguments: arguments, environment: environment,
          directory: folder),
        guardian: dependencies.guardian, limit: changesLimit, clock: dependencies.timeSource.clock)
      guard run.exit == .exited(0) else { return nil }
      switch run.output.count {
      case 0: return "clean"
      case 1: return "1 uncommitted change"
      case ProcessOutput.maximumLines...: return "\(ProcessOutput.maximumLines) or more uncommitted changes"
      case let count: return "\(count) uncommitted changes"
      }
    } catch {
      dependencies.logger.warning("git status in \(folder) could not be run: \(error)")
      return nil
    }
  }
}
