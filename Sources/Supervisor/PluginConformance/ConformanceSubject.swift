internal import Glibc
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// The end of a check before it could judge.
enum ConformanceStop: Error {
  /// The plugin stayed silent, or ended. `method` is what it was asked, where that is the cause.
  case lost(method: String?, ConnectionError, violation: String?)
  /// The method has cost an earlier check its plugin.
  case givenUp(method: String)
}

/// The plugin under test, over several processes.
final class ConformanceSubject: Sendable {
  /// The plugin that is tried, and its dependencies.
  struct Launch: Sendable {
    var path: String
    var config: JSONValue
    var environment: [String: String]
    /// For the plugin's data and spool.
    var folder: String
    var clock: any Clock<Duration>
  }

  enum Answer<Reply: Sendable>: Sendable {
    case result(Reply)
    case refused(WireError)
    case unreadable(String)
  }

  struct ProtocolViolation: Sendable {
    var kind: JSONRPCConnection.ProtocolViolation
    /// The name of the check that was being tried.
    var during: String
  }

  private struct Life {
    var trial: PluginProbe
    var serving: Task<Void, Never>
  }

  private struct State {
    var life: Life?
    /// Counts processes, so that late output of a killed one is ignored.
    var number = 0
    var trying = "starts"
    var violations: [ProtocolViolation] = []
    var givenUp: Set<String> = []
  }

  let launch: Launch
  let host = ConformanceHost()
  private let state = Locked(State())

  init(_ launch: Launch) { self.launch = launch }

  // MARK: - Processes

  func start() throws {
    let number = state.withLock { state in
      state.number += 1
      return state.number
    }
    let trial = try PluginProbe(
      path: launch.path, environment: launch.environment, folder: launch.folder, clock: launch.clock,
      violation: { [self] violation in
        state.withLock { state in
          if state.number == number {
            state.violations.append(ProtocolViolation(kind: violation, during: state.trying))
          }
        }
      })
    let serving = Task { [host] in await host.serve(trial.peer) }
    state.withLock { $0.life = Life(trial: trial, serving: serving) }
  }

  /// Ends its process in good order.
  func end() async -> TerminationStatus? { await end(patience: .seconds(5)) }

  /// Ends its process as a power cut does.
  func kill() async {
    state.withLock { $0.number += 1 }
    _ = await end(patience: .zero)
  }

  private func end(patience: Duration) async -> TerminationStatus? {
    guard let life = state.withLock({ $0.life.take() }) else { return nil }
    let exit = await life.trial.end(patience: patience, clock: launch.clock)
    await life.serving.value
    return exit
  }

  /// Ends a process that was lost, and reports how it ended.
  func explain(_ stop: ConformanceStop) async -> String {
    guard case .lost(let method, let error, let violation) = stop else { return "\(stop)" }
    if case .timedOut = error {
      await kill()
      return "\(error)" + (violation.map { "; \($0)" } ?? "")
    }
    let exit = await end()
    let how = exit == .signaled(SIGKILL) ? "it ended its output, but did not leave" : exit.map { "\($0)" }
    return (method.map { "\($0): " } ?? "") + "\(error)" + (how.map { " (\($0))" } ?? "")
  }

  // MARK: - Requests

  /// No request of this method is made any more.
  func giveUp(_ method: String) { state.withLock { _ = $0.givenUp.insert(method) } }

  func isTrying(_ check: String) { state.withLock { $0.trying = check } }

  /// All that it printed and that is not part of the protocol.
  var violations: [ProtocolViolation] { state.withLock { $0.violations } }

  func answer<Request: WireRequest>(to request: Request) async throws(ConformanceStop) -> Answer<Request.Reply> {
    let (peer, isGivenUp) = state.withLock { ($0.life?.trial.peer, $0.givenUp.contains(Request.method)) }
    if isGivenUp { throw .givenUp(method: Request.method) }
    guard let peer else { throw .lost(method: nil, .closed, violation: nil) }
    do {
      return .result(try await peer.request(Strict(request), within: ConformanceSuite.answerLimit).reply)
    } catch .refused(let refusal) {
      return .refused(refusal)
    } catch .unreadable(let method, let why) {
      return .unreadable("\(ConnectionError.unreadable(method: method, why))")
    } catch {
      let method: String? = if case .notSent = error { nil } else { Request.method }
      throw .lost(method: method, error, violation: takeViolation())
    }
  }

  func notify(_ method: String) throws(ConformanceStop) {
    do {
      try state.withLock({ $0.life })?.trial.peer.notify(method)
    } catch {
      throw .lost(method: nil, .closed, violation: nil)
    }
  }

  /// Where no answer came, something else may have: it belongs to that check, and is no fault of its own.
  private func takeViolation() -> String? {
    state.withLock { state in
      let violation = state.violations.last { $0.during == state.trying }
      state.violations.removeAll { $0.during == state.trying }
      return violation?.kind.forAuthors
    }
  }
}

/// A request whose result must be of its form: the host takes anything where it reads nothing, a check does not.
private struct Strict<Request: WireRequest>: WireRequest {
  static var method: String { Request.method }
  static var replyForm: String { Request.replyForm }
  var request: Request

  init(_ request: Request) { self.request = request }

  init(from decoder: any Decoder) throws { request = try Request(from: decoder) }

  func encode(to encoder: any Encoder) throws { try request.encode(to: encoder) }

  struct Reply: Codable, Sendable {
    var reply: Request.Reply

    init(from decoder: any Decoder) throws {
      _ = try [String: JSONValue](from: decoder)
      reply = try Request.Reply(from: decoder)
    }

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }
  }
}

extension JSONRPCConnection.ProtocolViolation {
  /// The plugin's fault, in words for its author.
  var forAuthors: String {
    switch self {
    case .notProtocol(let beginning): "it printed \(beginning.debugDescription)"
    case .tooLong(let bytes):
      "it printed a line of \(ByteCount(bytes)); the limit is \(ByteCount(ProtocolLimits.maximumLineLength))"
    case .unfinished(let bytes): "its output ended in the middle of a line (\(ByteCount(bytes)))"
    case .unknownAnswer(.integer(let id)?): "it answered the id \(id), which no unanswered request has"
    case .unknownAnswer(.string(let id)?): "it answered the id \(id.debugDescription), which no unanswered request has"
    case .unknownAnswer(nil): "it sent an answer without an id"
    case .ignoredNotification(let method): "it sent \(method) without an id, which the host ignores"
    }
  }
}
