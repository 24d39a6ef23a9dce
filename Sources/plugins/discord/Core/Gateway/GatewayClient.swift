internal import MessengerHTTP
internal import MessengerKit
internal import RelayConcurrency
internal import RelayHTTP
internal import RelayTransport
internal import RelayWire

/// Stays connected to the gateway: resumes where that is possible, and identifies as rarely as it must.
actor GatewayClient {
  /// The pause after a refusal that only a person can resolve: each try costs one of the day's thousand connections,
  /// and past them Discord resets the token.
  private static let pauseAfterRefusal: Duration = .seconds(3_600)

  private let rest: RESTClient
  private let clock = LoopClock.shared
  private let handle: @Sendable (GatewayEvent) async throws -> Bool
  private let arrived: @Sendable (GatewayEvent) -> Void
  private let log: @Sendable (String) -> Void
  private let problems: ProblemReports?
  /// The problem that was last reported; `nil` once it is over.
  private(set) var obstacle: String?
  private static let catchingUp = "messages that were written while the bot was away are being fetched from Discord"
  private var session: GatewaySession?
  private var backoff = ReconnectBackoff()
  private var connection: GatewayConnection?
  /// The text of the bot's activity.
  private var presence: String?
  /// Connections in a row that were of no use.
  private var useless = 0
  /// Then the session is given up: its address may be gone for good.
  private static let maximumUseless = 5

  /// - Parameters:
  ///   - session: the session of an earlier process, to be resumed.
  ///   - arrived: called for each event as it comes, before earlier events are handled; must not wait.
  ///   - handle: called for each event in order; the event's session is the one to keep once it returns. Returns
  ///     whether everything missed has been fetched.
  ///   - problems: gets the problem; without it a permanent refusal of Discord ends `run`.
  init(
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
  func run() async throws {
    while !Task.isCancelled {
      let began = clock.now
      let (ending, useful) = try await connect()
      switch ending {
      case .fatal(let words):
        session = nil
        guard let problems else { throw WireError(.internalError, words) }
        await problems.tellRefusal(words, again: Self.pauseAfterRefusal)
        try await clock.sleep(for: Self.pauseAfterRefusal)
        continue
      case .identify, .identifyLater: session = nil
      case .resume: break
      }
      useless = useful == nil ? useless + 1 : 0
      if useless >= Self.maximumUseless { session = nil }
      var delay = backoff.next(
        after: useful.map { $0.duration(to: clock.now) }, jitter: Double.random(in: 0...1))
      // https://discord.com/developers/docs/events/gateway#resuming
      if ending == .identifyLater { delay = max(delay, .seconds(Double.random(in: 1...5))) }
      log(
        "the gateway's connection ended after \(began.duration(to: clock.now).forPeople); again in \(delay.forPeople)"
      )
      try await clock.sleep(for: delay)
    }
  }

  private func connect() async throws -> (GatewayEnding, useful: LoopClock.Instant?) {
    let socket: WebSocket
    let start: GatewayConnection.Start
    do {
      let url: String
      if let session {
        start = .resume(token: rest.settings.token, session)
        url = session.resumeURL
      } else {
        start = .identify(token: rest.settings.token)
        url = try await allowance()
      }
      socket = try await WebSocket.connect(request(url))
    } catch let error as RESTError {
      if case .refused(status: 401, _, _) = error { return (GatewayEnding(closedWith: 4004), nil) }
      await tell("Discord cannot be asked for its gateway: \(error.words)")
      return (.resume, nil)
    } catch let error as WebSocketError {
      await tell("Discord's gateway cannot be reached: \(error)")
      return (.resume, nil)
    }
    return try await live(socket, start)
  }

  private func live(
    _ socket: WebSocket, _ start: GatewayConnection.Start
  ) async throws -> (GatewayEnding, useful: LoopClock.Instant?) {
    let events = Mailbox<GatewayEvent>()
    let waiting = Locked(0)
    let connection = GatewayConnection(
      socket, start, presence: presence, arrived: arrived, events: events, waiting: waiting)
    self.connection = connection
    defer { self.connection = nil }
    return try await withThrowingTaskGroup(of: GatewayEnding?.self) { group in
      group.addTask { [handle] in
        // Every event that has come is handled before the next connection asks for what follows.
        var isGreeted = false
        while let event = await events.next() {
          if event.name == "READY" { await self.beginCatchingUp() }
          let isCaughtUp = try await handle(event)
          if event.name == "READY" || event.name == "RESUMED" { isGreeted = true }
          await self.keep(event.session, isWell: isGreeted && isCaughtUp)
          waiting.withLock { $0 -= 1 }
        }
        return nil
      }
      group.addTask {
        let ending = await connection.run()
        events.close()
        return ending
      }
      var ending = GatewayEnding.resume
      // An event that cannot be handed over ends the connection, too.
      while let one = try await group.next() { if let one { ending = one } }
      return (ending, await connection.usefulSince)
    }
  }

  /// Shows a text as the bot's activity, now and after every new connection.
  func show(presence text: String?) async {
    presence = text
    await connection?.show(presence: text)
  }

  /// - Parameter isWell: the connection is there, and what was missed has been handled.
  private func keep(_ session: GatewaySession, isWell: Bool) async {
    self.session = session
    if isWell { await tell(nil) }
  }

  private func beginCatchingUp() async {
    if problems != nil { await tell(Self.catchingUp) }
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

  /// The gateway's address, once another IDENTIFY is allowed: past the day's budget Discord resets the token.
  private func allowance() async throws -> String {
    while true {
      let answer = try await rest.ask(.gateway)
      guard let url = answer["url"]?.stringValue else {
        throw RESTError.unreachable("it did not name the address of the gateway")
      }
      let limit = answer["session_start_limit"]
      guard limit?["remaining"]?.intValue == 0, let wait = limit?["reset_after"]?.doubleValue else { return url }
      await tell(
        "no further connection is allowed for \(Duration(seconds: wait / 1_000).forPeople): this token has used up today's"
      )
      try await clock.sleep(for: .seconds(wait / 1_000))
    }
  }
}
