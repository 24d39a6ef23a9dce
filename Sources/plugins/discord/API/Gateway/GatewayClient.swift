internal import MessengerHTTP
package import MessengerKit
internal import RelayHTTP
internal import RelayJSON
internal import RelayWire

/// Stays connected to the gateway: resumes where that is possible, and identifies as rarely as it must.
package actor GatewayClient {
  /// The pause after a refusal that only a person can resolve: each try costs one of the day's thousand connections,
  /// and past them Discord resets the token.
  private static let pauseAfterRefusal: Duration = .seconds(3_600)

  private let rest: RESTClient
  private let handle: @Sendable (GatewayEvent) async throws -> Bool
  private let arrived: @Sendable (GatewayEvent) -> Void
  private let log: @Sendable (String) -> Void
  private let problems: ProblemReports?
  /// The problem that was last reported; `nil` once it is over.
  package private(set) var obstacle: String?
  private static let catchingUp = "messages that were written while the bot was away are being fetched from Discord"
  private var session: GatewaySession?
  private var connection: GatewayConnection?
  /// The text of the bot's activity.
  private var presence: String?
  /// The present connection has begun or resumed a session.
  private var isGreeted = false
  /// Connections since the last that was greeted.
  private var useless = 0
  /// Then the session is given up: its address may be gone for good.
  private static let maximumUseless = 5

  /// - Parameters:
  ///   - session: the session of an earlier process, to be resumed.
  ///   - arrived: called for each event as it comes, before earlier events are handled; must not wait.
  ///   - handle: called for each event in order; the event's session is the one to keep once it returns. Returns
  ///     whether everything missed has been fetched.
  ///   - problems: gets the problem; without it a permanent refusal of Discord ends `run`.
  package init(
    _ rest: RESTClient, resuming session: GatewaySession?,
    arrived: @escaping @Sendable (GatewayEvent) -> Void = { _ in },
    handle: @escaping @Sendable (GatewayEvent) async throws -> Bool, log: @escaping @Sendable (String) -> Void,
    problems: ProblemReports? = nil
  ) {
    self.rest = rest
    self.session = session
    self.handle = handle
    self.arrived = arrived
    self.log = log
    self.problems = problems
  }

  /// Runs until the task is cancelled.
  ///
  /// - Throws: errors of `handle`; without `problems`, permanent refusals of Discord.
  package func run() async throws {
    try await StayingConnected.run(pauseAfterRefusal: Self.pauseAfterRefusal, report: { try await self.report($0) }) {
      try await self.connect($0).connectionEnding(random: .random(in: 0...1))
    }
  }

  private func report(_ step: Reconnection.Step) async throws {
    log("the gateway's connection ended; again in \(step.pause.forPeople)")
    if let problems { return await problems.take(step) }
    switch step.report {
    case .nothing: break
    case .problem(let words): await tell(words)
    case .refusal(let words): throw WireError(.internalError, words)
    }
  }

  private func connect(_ isOfUse: @escaping @Sendable () -> Void) async throws -> GatewayEnding {
    if useless >= Self.maximumUseless { session = nil }
    useless += 1
    let socket = try await open()
    let ending = try await live(socket, isOfUse)
    if ending != .resume { session = nil }
    return ending
  }

  /// - Throws: `ConnectionEnding`.
  private func open() async throws -> WebSocket {
    do {
      let url = if let session { session.resumeURL } else { try await allowance() }
      return try await WebSocket.connect(request(url))
    } catch let error as WebSocketError {
      throw ConnectionEnding("Discord's gateway cannot be reached: \(error)")
    }
  }

  private func live(_ socket: WebSocket, _ isOfUse: @escaping @Sendable () -> Void) async throws -> GatewayEnding {
    let token = rest.settings.token
    let connection = GatewayConnection(
      socket, session.map { .resume(token: token, $0) } ?? .identify(token: token), presence: presence,
      arrived: arrived, isOfUse: isOfUse)
    self.connection = connection
    isGreeted = false
    defer { self.connection = nil }
    return try await Arrivals.run(read: { await connection.run($0) }) { event in
      try await self.take(event)
      connection.handled()
    }
  }

  private func take(_ event: GatewayEvent) async throws {
    if event.name == "READY", problems != nil { await tell(Self.catchingUp) }
    let isCaughtUp = try await handle(event)
    if event.name == "READY" || event.name == "RESUMED" { (isGreeted, useless) = (true, 0) }
    session = event.session
    // The connection is there, and what was missed has been handled.
    if isGreeted, isCaughtUp { await tell(nil) }
  }

  /// Shows a text as the bot's activity, now and after every new connection.
  package func show(presence text: String?) async {
    presence = text
    await connection?.show(presence: text)
  }

  /// The problem, or `nil` once it is over.
  private func tell(_ problem: String?) async {
    if let problems { return await problems.tell(problem) }
    guard problem != obstacle else { return }
    obstacle = problem
    log(problem ?? "connected again")
  }

  private func request(_ url: String) -> WebSocket.Request {
    let base = url.hasSuffix("/") ? url : url + "/"
    var request = WebSocket.Request(url: base + "?v=10&encoding=json&compress=zlib-stream")
    request.proxy = rest.settings.interface.proxy(for: request.url)?.url
    request.allowsPlain = rest.settings.interface.allowsPlain
    return request
  }

  /// The gateway's address. Past the day's budget of connections Discord resets the token.
  ///
  /// - Throws: `ConnectionEnding`.
  private func allowance() async throws -> String {
    let answer: JSONValue
    do throws(RESTError) {
      answer = try await rest.ask(.gateway)
    } catch {
      if case .refused(status: 401, _, _) = error { throw GatewayEnding(closedWith: 4004).connectionEnding(random: 0) }
      throw ConnectionEnding("Discord cannot be asked for its gateway: \(error.words)")
    }
    let limit = answer["session_start_limit"]
    if limit?["remaining"]?.intValue == 0, let wait = limit?["reset_after"]?.doubleValue {
      let pause = Duration.seconds(wait / 1_000)
      throw ConnectionEnding(
        "no further connection is allowed for \(pause.forPeople): this token has used up today's", minimumPause: pause)
    }
    if let url = answer["url"]?.stringValue { return url }
    throw ConnectionEnding("Discord cannot be asked for its gateway: it did not say where the gateway is")
  }
}
