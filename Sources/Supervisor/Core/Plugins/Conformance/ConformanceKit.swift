internal import Glibc
internal import ProcessSupervision
internal import RelayHome
internal import RelayPipes
package import RelayWire

/// Tries a plugin against the protocol: what a host may do, and what it must get for it.
package struct ConformanceKit: Sendable {
  package struct Result: Sendable, Equatable, Codable {
    package var check: String
    package var passed: Bool
    /// The fault, or the reason why nothing could be tried.
    package var detail: String?
    /// The heading in docs/plugin-protocol.md beneath which it is said how it should be.
    package var section: String?

    /// For people.
    package var line: String {
      let place = passed ? nil : section.map { "; see \"\($0)\" in docs/plugin-protocol.md" }
      return "\(passed ? "✓" : "✗") \(check)" + (detail.map { " — \($0)" } ?? "") + (place ?? "")
    }
  }

  /// Headings of docs/plugin-protocol.md.
  package enum Section: String, Sendable, CaseIterable {
    case lines = "Lines"
    case life = "A plugin's life"
    case errors = "Errors"
    case requests = "Every request and its result"
    case initialize = "initialize (host → plugin)"
    case state = "state.save"
    case messages = "message.send, message.edit, message.delete"
    case lookup = "message.lookup"
    case settled = "message.settled"
    case file = "file.send"
    case dialog = "dialog.show, dialog.close"
    case typing = "typing.set, commands.changed"
    case places = "thread.create, conversation.open, presence.set"
    case rendering = "format.render"
    case tools = "format.tool"
    case preparation = "attachments.prepare"
    case ending = "Both: ping, shutdown"
  }

  /// One thing to try. `body` answers what is wrong, in words that begin in the middle of a line.
  struct Check {
    var name: String
    var section: Section
    var body: () async -> String?

    init(_ name: String, _ section: Section, _ body: @escaping () async -> String?) {
      self.name = name
      self.section = section
      self.body = body
    }
  }

  private let path: String
  private let config: JSONValue
  private let environment: [String: String]
  private let folder: String
  private let clock: any Clock<Duration>

  static let answerLimit: Duration = .seconds(10)

  /// - Parameter folder: an empty folder of the caller's, for the plugin's data and spool.
  package init(
    path: String, config: JSONValue, environment: [String: String], folder: String,
    clock: any Clock<Duration> = LoopClock.shared
  ) {
    self.path = path
    self.config = config
    self.environment = environment
    self.folder = folder
    self.clock = clock
  }

  /// Runs every check, telling each result as it is known. Answers whether all passed.
  package func run(_ tell: (Result) -> Void) async -> Bool {
    var allPassed = true
    func note(_ check: String, _ section: Section, _ problem: String?) {
      tell(Result(check: check, passed: problem == nil, detail: problem, section: section.rawValue))
      if problem != nil { allPassed = false }
    }
    let host = ConformanceHost()
    guard let trial = start(note) else { return false }
    note("starts", .life, nil)
    let serving = Task { await host.serve(trial.peer) }
    let greeting = await greet(trial, state: nil)
    note("answers initialize within 10 s", .initialize, greeting.problem)
    if let about = greeting.about {
      note(
        "speaks protocol version 1", .initialize, about.protocolVersion == 1 ? nil : "it says \(about.protocolVersion)")
      note("says its name, version and a known kind", .initialize, Self.problem(of: about))
      let asking = ConformanceAsking(peer: trial.peer, oddities: trial.oddities)
      var checks = asking.basicChecks
      if about.kinds.contains(.messenger) {
        checks += MessengerChecks(asking: asking, capabilities: about.capabilities, folder: folder).all
      }
      checks += ServiceChecks(asking: asking, services: about.capabilities.services ?? [], folder: folder).all
      checks.append(Check("answers shutdown", .ending) { await asking.ask(Shutdown(reason: "check")) })
      for check in checks { note(check.name, check.section, await check.body()) }
      note("asks the host only for what there is", .requests, host.complaint)
    } else if greeting.isConfigurationError {
      tell(
        Result(
          check: "the other checks", passed: true,
          detail: "not tried: it wants a configuration; give one with --config"))
    }
    note("leaves within 5 s of end of input", .life, await leaves(trial))
    note("says nothing on standard output but the protocol", .lines, trial.oddities.withLock { $0.first })
    await serving.value
    guard greeting.about != nil else { return allPassed }
    let name = host.saved == nil ? "starts again" : "starts again with the state that it saved"
    note(name, .state, await startsAgain(host))
    return allPassed
  }

  private func start(_ note: (String, Section, String?) -> Void) -> PluginTrial? {
    do {
      return try PluginTrial(path: path, environment: environment, folder: folder, clock: clock)
    } catch {
      note("starts", .life, "\(error)")
      return nil
    }
  }

  private struct Greeting {
    var about: InitializeReply?
    var problem: String?
    var isConfigurationError = false
  }

  private func greet(_ trial: PluginTrial, state: JSONValue?) async -> Greeting {
    let request = InitializeRequest(
      protocolVersions: [1, 9_999], host: HostDescription(name: "conformance kit", version: Product.version),
      instance: "check", config: config, state: state, dataDir: folder, spoolDir: folder)
    do {
      return Greeting(about: try await trial.peer.request(request, within: Self.answerLimit))
    } catch .refused(let refusal) {
      guard refusal.code == .configuration else { return Greeting(problem: "it refused: \(refusal.message)") }
      let problems = refusal.data.flatMap { try? JSONCoding.convert($0, to: [ConfigurationProblem].self) }
      guard problems != nil else {
        return Greeting(problem: "its configuration error has no data of the form [{\"path\":…,\"message\":…}]")
      }
      return Greeting(isConfigurationError: true)
    } catch {
      return Greeting(problem: "\(error)")
    }
  }

  private static func problem(of about: InitializeReply) -> String? {
    if about.name.isEmpty { return "its name is empty" }
    if about.version.isEmpty { return "its version is empty" }
    let known: Set<PluginKind> = [.messenger, .service, .observer]
    return about.kinds.contains(where: known.contains) ? nil : "kinds holds none of messenger, service, observer"
  }

  /// As after a crash: what it saved comes back, and it catches up from there.
  private func startsAgain(_ before: ConformanceHost) async -> String? {
    let trial: PluginTrial
    do {
      trial = try PluginTrial(path: path, environment: environment, folder: folder, clock: clock)
    } catch {
      return "\(error)"
    }
    let host = ConformanceHost()
    let serving = Task { await host.serve(trial.peer) }
    let greeting = await greet(trial, state: before.saved)
    let asking = ConformanceAsking(peer: trial.peer, oddities: trial.oddities)
    let answer = greeting.about == nil ? nil : await asking.ask(Ping())
    let exit = await trial.end(clock: clock)
    await serving.value
    if greeting.isConfigurationError { return "it refuses the configuration that it took the first time" }
    if let problem = greeting.problem { return "initialize: \(problem) (\(exit))" }
    return answer.map { "ping: \($0) (\(exit))" }
  }

  private func leaves(_ trial: PluginTrial) async -> String? {
    await trial.end(clock: clock) == .signaled(SIGKILL) ? "it was still there and had to be killed" : nil
  }
}
