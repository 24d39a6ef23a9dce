internal import MessengerKit
internal import RelayConcurrency
internal import RelayHTTP
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// One connection to the gateway, from HELLO to its end.
///
/// https://discord.com/developers/docs/events/gateway#connection-lifecycle
actor GatewayConnection {
  /// GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES and MESSAGE_CONTENT.
  static let intents: Int64 = 1 << 0 | 1 << 9 | 1 << 12 | 1 << 15
  /// Events that may wait to be handled; with more the connection is given up, and resumed when they have been.
  static let maximumWaiting = 5_000
  private static let zombie = 4000
  /// For HELLO, and then for the session to be there.
  private static let patience: Duration = .seconds(20)

  enum Start: Sendable {
    case identify(token: String)
    case resume(token: String, GatewaySession)
  }

  private let socket: WebSocket
  private let start: Start
  private let arrived: @Sendable (GatewayEvent) -> Void
  private let isOfUse: @Sendable () -> Void
  /// Events that have come and are not handled.
  private let waiting = Locked(0)
  private let clock = LoopClock.shared
  private let inflater = GatewayInflater()
  private var session: GatewaySession?
  private var sequence: Int?
  private var isAcknowledged = true
  private var ending: GatewayEnding?
  private var presence: String?
  private var presenceTask: Task<Void, Never>?
  /// Discord takes five changes in twenty seconds.
  private static let presencePause: Duration = .seconds(4)
  private let beats = Mailbox<Duration>()
  /// The session was begun or resumed.
  private var isGreeted = false

  /// - Parameters:
  ///   - arrived: called for each event as it comes; must not wait.
  ///   - isOfUse: called when the session was begun or resumed.
  init(
    _ socket: WebSocket, _ start: Start, presence: String?, arrived: @escaping @Sendable (GatewayEvent) -> Void,
    isOfUse: @escaping @Sendable () -> Void
  ) {
    self.presence = presence
    self.arrived = arrived
    self.isOfUse = isOfUse
    self.socket = socket
    self.start = start
    if case .resume(_, let session) = start {
      self.session = session
      sequence = session.sequence
    }
  }

  /// Runs until the connection has ended, or the task is cancelled: then the session stays open for who resumes it.
  ///
  /// - Parameter post: called for each event, which is handled later.
  func run(_ post: @Sendable (GatewayEvent) -> Void) async -> GatewayEnding {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.beat() }
      while let message = await socket.next() {
        take(message, post)
        if ending != nil { break }
      }
      beats.close()
      group.cancelAll()
    }
    presenceTask?.cancel()
    // Any code but 1000 and 1001 leaves the session open.
    socket.close(code: Self.zombie)
    socket.drop()
    return ending ?? GatewayEnding(closedWith: socket.closure?.code)
  }

  /// An event has been handled.
  nonisolated func handled() { waiting.withLock { $0 -= 1 } }

  private func take(_ message: WebSocket.Message, _ post: (GatewayEvent) -> Void) {
    do {
      guard let bytes = try inflater.take(message.bytes) else { return }
      try take(GatewayPayload.read(bytes), post)
    } catch {
      // The stream cannot be followed from here; Discord sends it again from the last event that was handled.
      ending = .resume
    }
  }

  private func take(_ payload: GatewayPayload, _ post: (GatewayEvent) -> Void) throws {
    switch payload.operation {
    case .hello:
      guard let interval = payload.data?["heartbeat_interval"]?.intValue else { return }
      beats.post(.milliseconds(interval))
      try greet()
    case .heartbeat: try sendHeartbeat()
    case .heartbeatAcknowledged: isAcknowledged = true
    case .reconnect: ending = .resume
    case .invalidSession: ending = payload.data == true ? .resume : .identifyLater
    case .dispatch: dispatch(payload, post)
    case .identify, .presence, .resume, nil: break
    }
  }

  private func greet() throws {
    switch start {
    case .identify(let token):
      try send(
        .identify,
        [
          "token": .string(token), "intents": .integer(Self.intents),
          "properties": ["os": "linux", "browser": "pi-relay", "device": "pi-relay"],
          "presence": Self.activity(presence),
        ])
    case .resume(let token, let session):
      try send(
        .resume,
        ["token": .string(token), "session_id": .string(session.id), "seq": .integer(Int64(session.sequence))])
    }
  }

  private func dispatch(_ payload: GatewayPayload, _ post: (GatewayEvent) -> Void) {
    guard let number = payload.sequence, let name = payload.event else { return }
    sequence = number
    if name == "READY" { session = GatewaySession(ready: payload.data, sequence: number) }
    if name == "READY" || name == "RESUMED" {
      isGreeted = true
      isOfUse()
      if name == "RESUMED", presence != nil { showPresence() }
    }
    session?.sequence = number
    guard let session else { return }
    let count = waiting.withLock { count in
      count += 1
      return count
    }
    let event = GatewayEvent(name: name, data: payload.data ?? .null, session: session)
    arrived(event)
    post(event)
    if count > Self.maximumWaiting { ending = .resume }
  }

  // MARK: - Presence

  /// https://discord.com/developers/docs/events/gateway-events#update-presence
  private static func activity(_ text: String?) -> JSONValue {
    let watching: JSONValue = text.map { ["name": .string($0), "type": 3] } ?? .null
    return [
      "since": .null, "activities": text == nil ? [] : .array([watching]), "status": "online", "afk": false,
    ]
  }

  func show(presence text: String?) {
    guard text != presence else { return }
    presence = text
    showPresence()
  }

  private func showPresence() {
    guard isGreeted, presenceTask == nil else { return }
    let shown = presence
    // A connection that takes nothing is ending; the next one sends it again.
    try? send(.presence, Self.activity(shown))
    presenceTask = Task {
      guard (try? await clock.sleep(for: Self.presencePause)) != nil else { return }
      presenceTask = nil
      if presence != shown { showPresence() }
    }
  }

  // MARK: - Heartbeats

  private func beat() async {
    let beats = beats
    let said: Duration?? = try? await withDeadline(Self.patience, clock: clock) { await beats.next() }
    guard let said, let interval = said else { return socket.drop() }
    let greeted = clock.now
    var pause = interval * Double.random(in: 0...1)
    while (try? await clock.sleep(for: pause)) != nil {
      guard isAcknowledged else {
        // The other side is gone, whatever the state of the socket.
        ending = .resume
        return socket.drop()
      }
      if !isGreeted, greeted.duration(to: clock.now) > Self.patience { return socket.drop() }
      isAcknowledged = false
      do { try sendHeartbeat() } catch { return socket.drop() }
      pause = interval
    }
  }

  private func sendHeartbeat() throws { try send(.heartbeat, sequence.map { .integer(Int64($0)) } ?? .null) }

  private func send(_ operation: GatewayPayload.Operation, _ data: JSONValue) throws {
    try socket.send(GatewayPayload.text(operation, data))
  }
}
