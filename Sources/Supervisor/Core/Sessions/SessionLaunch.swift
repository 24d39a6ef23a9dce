internal import FoundationEssentials
internal import Glibc
internal import RelayConfig

/// How the agent of one session is started.
struct SessionLaunch {
  let arguments: [String]
  let environment: [String: String]
  /// Where pi may have written the session.
  let sessionFiles: [String]
  private let directory: String

  /// - Parameter surroundings: the environment that the agent's is made of.
  init(
    program: AgentProgram, pi: Config.Pi, id: String, model: String?, directory: String, folders: Folders,
    surroundings: [String: String]
  ) {
    self.directory = directory
    var arguments = ["--mode", "rpc"]
    var environment = pi.environment
    if program.takesSessionID {
      arguments += ["--session-id", id]
    } else {
      let file = "\(folders.sessions)/\(id).jsonl"
      arguments += ["--session", file]
    }
    if let provider = pi.provider { arguments += ["--provider", provider] }
    if let model { arguments += ["--model", model] }
    // The demo keeps its sessions out of pi's own folder.
    if program.isDemo { environment["PI_CODING_AGENT_DIR"] = "\(folders.state)/demo-agent" }
    self.arguments = arguments + pi.arguments
    self.environment = environment
    let all = surroundings.merging(environment) { $1 }
    sessionFiles =
      program.takesSessionID
      ? Self.files(ofSession: id, in: directory, environment: all) : ["\(folders.sessions)/\(id).jsonl"]
  }

  /// Sees to it that pi finds what it needs.
  func prepare() throws {
    guard access(directory, X_OK) == 0 else { throw SpawnError.missingDirectory(path: directory) }
  }

  /// Where pi keeps a session that it knows by its id: a folder for each working directory, whose name is its path.
  private static func files(
    ofSession id: String, in directory: String, environment: [String: String]
  ) -> [String] {
    let root = environment["PI_CODING_AGENT_DIR"] ?? (environment["HOME"] ?? "") + "/.pi/agent"
    let real = realpath(directory, nil).map { path in
      defer { free(path) }
      return String(cString: path)
    }
    return Set([directory, real ?? directory]).flatMap { path in
      let folder = "\(root)/sessions/--\(path.split(separator: "/").joined(separator: "-").replacing(":", with: "-"))--"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return names.filter { $0.hasSuffix("_\(id).jsonl") }.map { "\(folder)/\($0)" }
    }
  }
}
