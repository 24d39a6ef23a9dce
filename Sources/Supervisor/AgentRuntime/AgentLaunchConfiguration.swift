internal import FoundationEssentials
internal import Glibc
internal import ProcessSupervision
package import RelayConfig
package import RelayHome

/// How the agent of one session is started.
package struct AgentLaunchConfiguration {
  package let arguments: [String]
  package let environment: [String: String]
  /// Where pi may have written the session.
  package let sessionFiles: [String]
  private let directory: String
  /// Nothing tells pi to keep sessions elsewhere than it does by itself.
  private let isPlaceKnown: Bool

  /// - Parameters:
  ///   - memory: where the session is kept, if not where pi keeps all.
  ///   - extensionFolder: the extension that pi is to run with.
  ///   - hasApprovals: the extension submits tool calls.
  ///   - inherited: the environment that the agent's is made of.
  package init(
    program: AgentExecutable, pi: Config.Pi, id: String, model: String?, directory: String,
    memory: TranscriptRetention?, extensionFolder: String? = nil, hasApprovals: Bool = false,
    home: HomeDirectory, inherited: [String: String]
  ) {
    self.directory = directory
    var arguments = ["--mode", "rpc"]
    var environment = pi.environment
    let file = "\(memory?.folder ?? home.sessions)/\(id).jsonl"
    arguments += program.takesSessionID ? ["--session-id", id] : ["--session", file]
    if let memory, program.takesSessionID { arguments += ["--session-dir", memory.folder] }
    if let provider = pi.provider { arguments += ["--provider", provider] }
    if let model { arguments += ["--model", model] }
    if let extensionFolder, program.takesExtensions == true {
      arguments += ["--extension", extensionFolder]
      environment["PI_RELAY_SOCKET"] = home.socket
      if !hasApprovals { environment["PI_RELAY_APPROVALS"] = "off" }
    }
    // The demo keeps its sessions out of pi's own folder.
    if program.isDemo { environment["PI_CODING_AGENT_DIR"] = "\(home.state)/demo-agent" }
    self.arguments = arguments + pi.arguments
    self.environment = environment
    let all = inherited.merging(environment) { $1 }
    isPlaceKnown = !pi.arguments.contains("--session-dir") && all["PI_CODING_AGENT_SESSION_DIR"] == nil
    sessionFiles =
      program.takesSessionID
      ? (memory.map { [$0.folder] } ?? Self.folders(forDirectory: directory, environment: all))
        .flatMap { Self.files(ofSession: id, in: $0) }
      : [file]
  }

  /// The absence of a session file: true where pi has written nothing, false where pi may keep it in another place.
  package var hasSavedNothing: Bool { isPlaceKnown && !sessionFiles.contains { access($0, F_OK) == 0 } }

  /// Sees to it that pi finds what it needs.
  package func prepare() throws {
    guard access(directory, X_OK) == 0 else { throw SpawnError.missingDirectory(path: directory) }
  }

  private static func files(ofSession id: String, in folder: String) -> [String] {
    // pi makes the folder with its first session: until then there is none.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasSuffix("_\(id).jsonl") }.map { "\(folder)/\($0)" }
  }

  /// Where pi keeps sessions that it knows by their ids: a folder for each working directory, whose name is its path.
  private static func folders(forDirectory directory: String, environment: [String: String]) -> [String] {
    let root = environment["PI_CODING_AGENT_DIR"] ?? (environment["HOME"] ?? "") + "/.pi/agent"
    let real = realpath(directory, nil).map { path in
      defer { free(path) }
      return String(cString: path)
    }
    return Set([directory, real ?? directory]).map { path in
      "\(root)/sessions/--\(path.split(separator: "/").joined(separator: "-").replacing(":", with: "-"))--"
    }
  }
}
