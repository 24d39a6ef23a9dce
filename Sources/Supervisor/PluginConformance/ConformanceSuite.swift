internal import Glibc
internal import ProcessSupervision
package import RelayJSON
internal import RelayTransport
internal import RelayWire

/// Tries a plugin against the protocol: everything that a host may send, and the answers that it must get.
package struct ConformanceSuite: Sendable {
  package enum Outcome: String, Sendable, Codable { case passed, failed, untried }

  package struct Result: Sendable, Equatable, Codable {
    package var check: String
    package var outcome: Outcome
    /// The fault, or the reason why nothing could be tried.
    package var detail: String?
    /// The heading in docs/plugin-protocol.md beneath which it is said how it should be.
    package var section: String?

    /// For people.
    package var line: String {
      let mark =
        switch outcome {
        case .passed: "✓"
        case .failed: "✗"
        case .untried: "–"
        }
      let place = outcome == .failed ? section.map { "; see \"\($0)\" in docs/plugin-protocol.md" } : nil
      return "\(mark) \(check)" + (detail.map { " — \($0)" } ?? "") + (place ?? "")
    }
  }

  /// Headings of docs/plugin-protocol.md.
  package enum Section: String, Sendable, CaseIterable {
    case lines = "Lines"
    case lifecycle = "Lifecycle of a plugin"
    case errors = "Errors"
    case requests = "Every request and its result"
    case initialize = "initialize (host → plugin)"
    case received = "message.received"
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

  /// A check. `body` returns the fault, in words that continue a line.
  struct Check {
    var name: String
    var section: Section
    /// The method that is not tried again in other checks when this one fails.
    var method: String?
    var body: () async throws -> String?

    init(
      _ name: String, _ section: Section, of method: String? = nil, _ body: @escaping () async throws -> String?
    ) {
      self.name = name
      self.section = section
      self.method = method
      self.body = body
    }
  }

  private let launch: ConformanceSubject.Launch

  static let answerLimit: Duration = .seconds(10)

  /// - Parameter folder: an empty folder of the caller's, for the plugin's data and spool.
  package init(
    path: String, config: JSONValue, environment: [String: String], folder: String,
    clock: any Clock<Duration> = LoopClock.shared
  ) {
    launch = .init(path: path, config: config, environment: environment, folder: folder, clock: clock)
  }

  /// Runs every check, telling each result as it is known. Answers whether all passed.
  package func run(_ tell: @escaping (Result) -> Void) async -> Bool {
    let report = ConformanceReport(tell)
    let subject = ConformanceSubject(launch)
    await run(subject, report)
    // Of processes that were killed, too.
    _ = await Leftovers.end(clock: launch.clock)
    return report.allPassed
  }

  private func run(_ subject: ConformanceSubject, _ report: ConformanceReport) async {
    do {
      try subject.start()
    } catch {
      return report.note("starts", .lifecycle, "\(error)")
    }
    report.note("starts", .lifecycle, nil)
    switch await subject.greet() {
    case .failed(let problem):
      report.note(Self.greetingCheck, .initialize, problem)
      report.skip("the other checks", because: "initialize failed")
      return await subject.kill()
    case .wantsConfiguration:
      report.note(Self.greetingCheck, .initialize, nil)
      report.skip("the other checks", because: "it wants a configuration; give one with --config")
      await noteDeparture(subject, report)
    case .ready(let about):
      report.note(Self.greetingCheck, .initialize, nil)
      guard await run(checks(subject, about), subject, report) else { return await subject.kill() }
      await noteDeparture(subject, report)
      await CatchUpChecks(subject: subject, report: report).run(isMessenger: about.kinds.contains(.messenger))
    }
    note(subject.violations, report)
    report.note("sends the host only known requests", .requests, subject.host.complaint)
  }

  private static let greetingCheck = "answers initialize within 10 s"

  private func checks(_ subject: ConformanceSubject, _ about: InitializeReply) -> [Check] {
    let asking = ConformanceAsking(subject: subject)
    let introduction = [
      Check("speaks protocol version 1", .initialize) {
        about.protocolVersion == 1 ? nil : "initialize: protocolVersion is \(about.protocolVersion), not 1"
      },
      Check("says its name, version and a known kind", .initialize) { Self.problem(of: about) },
    ]
    var checks = introduction + [asking.firstCheck] + asking.basicChecks
    if about.kinds.contains(.messenger) {
      checks += MessengerChecks(asking: asking, capabilities: about.capabilities, folder: launch.folder).all
    }
    checks += ServiceChecks(asking: asking, services: about.capabilities.services ?? [], folder: launch.folder).all
    return checks + [Check("answers shutdown", .ending) { try await asking.ask(Shutdown(reason: "check")) }]
  }

  private static func problem(of about: InitializeReply) -> String? {
    if about.name.isEmpty { return "initialize: name is empty" }
    if about.version.isEmpty { return "initialize: version is empty" }
    let known: Set<PluginKind> = [.messenger, .service, .observer]
    return about.kinds.contains(where: known.contains)
      ? nil : "initialize: kinds holds none of messenger, service, observer"
  }

  /// Makes one check after another. A check that ends the plugin is reported once; the plugin is started again for the others.
  ///
  /// - Returns: false where the plugin is not to be had any more.
  private func run(_ checks: [Check], _ subject: ConformanceSubject, _ report: ConformanceReport) async -> Bool {
    var untried: [String: [String]] = [:]
    for check in checks {
      subject.isTrying(check.name)
      var problem: String?
      var isLost = false
      do {
        problem = try await check.body()
      } catch ConformanceStop.givenUp(let method) {
        untried[method, default: []].append(check.name)
        continue
      } catch let stop as ConformanceStop {
        problem = await subject.explain(stop)
        isLost = true
      } catch {
        problem = "\(error)"
      }
      report.note(check.name, check.section, problem)
      if problem != nil, let method = check.method { subject.giveUp(method) }
      guard isLost else { continue }
      var obstacle: String? = "it does not answer ping"
      if check.method != Ping.method { obstacle = await subject.startAgain() }
      if let obstacle {
        report.skip("the other checks", because: obstacle)
        return false
      }
    }
    for (method, names) in untried.sorted(by: { $0.key < $1.key }) {
      report.skip(names.joined(separator: "; "), because: "\(method) failed above")
    }
    return true
  }

  private func noteDeparture(_ subject: ConformanceSubject, _ report: ConformanceReport) async {
    subject.isTrying("leaves within 5 s of end of input")
    let isKilled = await subject.end() == .signaled(SIGKILL)
    report.note(
      "leaves within 5 s of end of input", .lifecycle, isKilled ? "it was still running and had to be killed" : nil)
    report.note("leaves no process behind", .lifecycle, await Leftovers.end(clock: launch.clock))
  }

  /// One line for each kind, because a plugin that prints once usually prints often.
  private func note(_ violations: [ConformanceSubject.ProtocolViolation], _ report: ConformanceReport) {
    func first(_ isMeant: (JSONRPCConnection.ProtocolViolation) -> Bool) -> String? {
      violations.first { isMeant($0.kind) }.map { "\($0.kind.forAuthors) (during \"\($0.during)\")" }
    }
    report.note(
      "prints only protocol lines on standard output", .lines,
      first { if case .notProtocol = $0 { true } else { false } })
    report.note(
      "sends whole lines of at most 16 MiB", .lines,
      first {
        switch $0 {
        case .tooLong, .unfinished: true
        default: false
        }
      })
    report.note(
      "answers each request once, with its id", .lines,
      first { if case .unknownAnswer = $0 { true } else { false } })
    report.note(
      "gives each of its requests an id", .lines,
      first { if case .ignoredNotification = $0 { true } else { false } })
  }
}
