internal import AgentRuntime
import ArgumentParser
internal import ControlServer
import Glibc
import RelayConfig
internal import RelayHome
import RelayJSON
internal import RelayModel
import RelayStore
import RelayTransport
import RelayWire

struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Check the installation, and say how to fix each problem.")

  @Flag(help: "One JSON object for each check.") var json = false
  @Flag(help: "Put a damaged database aside and save what can be read of it; for when no daemon runs.")
  var repair = false

  private struct Finding: Encodable {
    var ok: Bool
    var text: String
  }

  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    let surroundings = CommandLineEnvironment()
    if repair { return try Self.repairDatabase(surroundings) }
    var failed = false
    func note(_ ok: Bool, _ text: String) {
      if json {
        let line = try? JSONCoding.encode(Finding(ok: ok, text: text), sorted: true)
        print(String(decoding: line ?? [], as: UTF8.self))
      } else {
        print("\(ok ? "✓" : "✗") \(text)")
      }
      if !ok { failed = true }
    }
    // A choice of the person's own is no failure.
    func warn(_ text: String) { if json { note(true, "unsafe: \(text)") } else { print("! \(text)") } }
    do {
      try surroundings.home.prepare()
      note(true, "home \(surroundings.home.path)")
    } catch {
      note(false, "\(error)")
    }
    var config = Config()
    do {
      let loaded = try ConfigReader(environment: surroundings.environment).load(
        surroundings.home.configurationCandidates)
      config = loaded.config
      note(true, "configuration \(loaded.path ?? "none (defaults)")")
      for warning in loaded.warnings { note(false, warning) }
    } catch {
      for line in "\(error)".split(separator: "\n") { note(false, String(line)) }
    }
    note(true, "logs \(surroundings.home.logs), the daemon's from level \(config.logging.level.rawValue) on")
    let limit = Self.descriptorLimit
    note(limit < 0 || limit >= 256, "file descriptors: \(limit < 0 ? "no limit" : "\(limit)")")
    for name in ["pi-relay-guardian", "pi-relay-formatter", "pi-relay-attachments"] {
      let path = surroundings.helper(name)
      note(access(path, X_OK) == 0, access(path, X_OK) == 0 ? path : "\(path) is missing; install pi-relay again")
    }
    let probe = AgentLocator(
      configured: config.pi.executable, demoAgent: surroundings.helper("pi-relay-demo-agent"),
      environment: surroundings.environment, guardian: nil, clock: LoopClock.shared)
    var agent: AgentExecutable?
    do {
      let found = try await probe.find()
      agent = found
      note(!found.isDemo, found.demoReason ?? "agent \(found.path) \(found.version ?? "")")
    } catch {
      note(false, "\(error)")
    }
    for mode in Self.unsafeModes(config) { warn(mode) }
    if config.approvals.isEnabled, let agent {
      let choice = ExtensionChoice(config.pi, installed: "\(surroundings.bundledPlugins)/extension")
      if let problem = choice.approvalProblem(of: agent) { note(false, problem) }
    }
    await checkMessengers(config, surroundings, note)
    if surroundings.connect() != nil {
      let status = try await surroundings.ask(ControlStatus())
      note(true, "the daemon runs (pid \(status.pid))")
      for finding in status.findings { note(finding.isGood, finding.text) }
    } else {
      let home = surroundings.home.path
      if let problem = DiskSpace(of: home)?.problem(of: home) { note(false, problem) }
      let database = surroundings.home.database
      if access(database, F_OK) == 0 {
        do {
          let lock = try DaemonLock(surroundings.home)
          defer { lock.release() }
          _ = try SQLiteStore(path: database)
          try SQLiteStore.examine(database)
          note(true, "state \(database)")
        } catch {
          note(false, "\(error)")
        }
      }
      if !json { print("- the daemon does not run; start it with: pi-relayd start") }
    }
    if failed { throw ExitStatus.failed }
  }

  /// Settings that let more happen without a person's word than most people want.
  private static func unsafeModes(_ config: Config) -> [String] {
    let approvals = config.approvals
    var modes: [String] = []
    if !approvals.isEnabled || approvals.rules.isEmpty {
      modes += config.messengers.filter { $0.enabled && $0.access.everyone }.map {
        "\($0.name) admits everyone, and no tool call waits for an approval: list people under auth.users, or rules under "
          + "approvals"
      }
    }
    if config.sessions.agentsReachOthers {
      modes.append("sessions.agentsReachOthers lets an agent look at other sessions, prompt, steer and interrupt them")
    }
    if approvals.persistentGrants {
      modes.append(
        "approvals.persistentGrants lets a person in a chat approve a call for all sessions; pi-relayd approvals lists such grants"
      )
    }
    return modes
  }

  private static var descriptorLimit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return -1 }
    return limit.rlim_cur > UInt(Int.max) ? -1 : Int(limit.rlim_cur)
  }
}
