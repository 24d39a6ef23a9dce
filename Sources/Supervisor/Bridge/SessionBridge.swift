internal import AgentRuntime
internal import BridgeProtocol
internal import Logging
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// The bridge of one agent's process: a socket, a registry file, and the file of the session's latest events.
///
/// Works on the loop for logs, where waiting for a disk holds up neither sessions nor plugins.
final class SessionBridge: Sendable {
  private struct State {
    var record: RegistryRecord
    let journal: EventJournal
    var peers: [Int: BridgePeer] = [:]
    var nextPeer = 0
    /// The agent is in a run, also one that its own person began in the terminal; `nil` before anything has told it.
    var isInRun: Bool?
    var hasFailed = false
    var isStopped = false

    /// Envelopes on their way to the clients.
    var published: [UInt8] = []

    var hasSubscribers: Bool { peers.values.contains(where: \.isSubscribed) }

    mutating func sendPublished() {
      guard !published.isEmpty else { return }
      for peer in peers.values where peer.isSubscribed { peer.send(published) }
      published.removeAll(keepingCapacity: published.count >= SessionBridge.bytesInOneWrite)
    }
  }

  /// Results of publishing in one turn.
  private struct Turn {
    /// The agent's state after the last event that tells it: true where it is idle.
    var runState: Bool?
    var failure: (any Error)?
  }

  /// Time for a client to read something, before the others' events go on without it.
  private static let longestHold: Duration = .milliseconds(50)
  /// Bytes of envelopes that go to the clients at once.
  fileprivate static let bytesInOneWrite = 64 << 10
  static let maximumClients = 32

  let session: String
  let pid: Int32
  let limits: BridgeLimits
  let hasOwnHeartbeat: Bool
  let folder: BridgeFolder
  private let reader: HistoryReader
  let process: PiConnection
  private let timeSource: TimeSource
  private let logger: Logger
  private let taskScope: TaskScope
  private let state: Locked<State>
  private let staging = Locked(EventStaging())

  init(
    _ process: PiConnection, of session: ObservedSession, hostName: String, folder: BridgeFolder, limits: BridgeLimits,
    timeSource: TimeSource, logger: Logger, taskScope: TaskScope
  ) {
    self.session = session.id
    self.process = process
    self.folder = folder
    self.limits = limits
    hasOwnHeartbeat = session.bridge?.heartbeatMs != nil
    self.timeSource = timeSource
    self.logger = logger
    self.taskScope = taskScope
    pid = process.process.pid
    reader = HistoryReader(path: folder.journal(pid), limits: limits)
    let now = BridgeTimestamp.text(Self.milliseconds(timeSource))
    var record = RegistryRecord(
      pid: pid, processStartTime: process.process.startTime, hostname: hostName, cwd: session.directory,
      socketPath: folder.socket(pid), bridgeDir: folder.path, startedAt: now, updatedAt: now)
    record.parentSessionId = session.bridge?.parentSessionId
    record.childRole = session.bridge?.childRole
    record.sessionId = session.id
    record.sessionName = session.name
    record.isIdle = true
    record.hasPendingMessages = false
    state = Locked(State(record: record, journal: EventJournal(path: reader.path, limits: limits)))
  }

  private static func milliseconds(_ timeSource: TimeSource) -> Int64 { Int64(timeSource.wallTime() * 1_000) }

  // MARK: - State

  var record: RegistryRecord { state.withLock { $0.record } }

  /// Changes the record of the session, and writes it into the registry file.
  func update(_ reason: String, _ change: (inout RegistryRecord) -> Void) {
    let now = BridgeTimestamp.text(Self.milliseconds(timeSource))
    let record: RegistryRecord? = state.withLock { state in
      guard !state.isStopped else { return nil }
      change(&state.record)
      state.record.updatedAt = now
      state.record.lastReason = reason
      return state.record
    }
    guard let record else { return }
    EventLoop.logs.perform { [self] in
      do { try folder.write(record) } catch { report(error, where: "registry") }
    }
  }

  /// Indicates that the agent is in a run, whoever began it.
  var isInRun: Bool { state.withLock { $0.isInRun == true } }

  func learn(_ told: PiState) {
    // Events may have overtaken this word.
    let isInRun: Bool? = state.withLock { state in
      guard state.isInRun == nil else { return nil }
      state.isInRun = told.isStreaming
      return told.isStreaming
    }
    update("state") { record in
      if let isInRun { record.isIdle = !isInRun }
      record.sessionFile = told.sessionFile ?? record.sessionFile
      record.sessionName = told.sessionName ?? record.sessionName
      record.thinkingLevel = told.thinkingLevel ?? record.thinkingLevel
      guard let model = told.model else { return }
      record.model = RegistryRecord.Model(provider: model.provider, id: model.id, name: model.name)
    }
  }

  /// A fault is told once: to the log, and to the clients of now.
  private func report(_ error: any Error, where place: String) {
    let peers: [BridgePeer] = state.withLock { state in
      if state.hasFailed { return [] }
      state.hasFailed = true
      return Array(state.peers.values)
    }
    logger.warning("the bridge of the session works without its \(place): \(error)")
    for peer in peers { peer.send(BridgeNotice.error("\(error)", where: place)) }
  }

  // MARK: - Events

  /// Takes events as pi wrote them: lines, each with its newline. Returns at once.
  func take(_ lines: [UInt8]) { stage(.lines(lines, time: Self.milliseconds(timeSource))) }

  /// Publishes an event that is not pi's own, behind those of pi. Returns at once.
  ///
  /// - Parameter data: a JSON object.
  func publish(_ event: String, _ data: [UInt8]) {
    stage(.event(event, data: data, time: Self.milliseconds(timeSource)))
  }

  private func stage(_ arrival: EventStaging.Arrival) {
    if staging.withLock({ $0.add(arrival) }) { EventLoop.logs.perform { [self] in publishStaged() } }
  }

  private func publishStaged() {
    publishSome()
    if let peer = laggard() {
      hold(for: peer)
    } else if staging.withLock({ $0.endTurn() }) {
      EventLoop.logs.perform { [self] in publishStaged() }
    }
  }

  private func publishSome() {
    let (arrivals, lost) = staging.withLock { $0.takeTurn() }
    if lost > 0 { tellOfLost(lost) }
    let (runState, failure): (Bool?, (any Error)?) = state.withLock { state in
      guard !state.isStopped else { return (nil, nil) }
      var turn = Turn()
      for arrival in arrivals { publish(arrival, &state, &turn) }
      state.sendPublished()
      do { try state.journal.flush() } catch { turn.failure = error }
      // The end of a run may be among what was lost: the next word counts.
      if lost > 0 { state.isInRun = nil }
      if let runState = turn.runState { state.isInRun = !runState }
      return (turn.runState, turn.failure)
    }
    if let failure { report(failure, where: "history") }
    if let runState { update(runState ? "agent_end" : "agent_start") { $0.isIdle = runState } }
  }

  // MARK: - Pace

  private var tolerableUnsentBytes: Int { limits.maxUnsentBytes / 8 }

  /// A client that reads slower than the events are published.
  private func laggard() -> BridgePeer? {
    guard staging.withLock({ $0.mayBeHeld }) else { return nil }
    return state.withLock { $0.peers.values.first { $0.isSubscribed && $0.isBehind(tolerableUnsentBytes) } }
  }

  /// Publishes no more until the client has read, so that it is not disconnected for a burst that is faster than any client
  /// reads. One that reads nothing is not waited for again.
  private func hold(for peer: BridgePeer) {
    let number = staging.withLock { $0.hold() }
    let unsent = peer.unsentBytes
    peer.onRelief(tolerableUnsentBytes) { [self] in EventLoop.logs.perform { [self] in endHold(number) } }
    taskScope.add { [self] in
      guard await timeSource.sleep(for: Self.longestHold) else { return }
      endHold(number) { if peer.unsentBytes >= unsent { peer.readsNothing() } }
    }
  }

  private func endHold(_ number: Int, before: () -> Void = {}) {
    guard staging.withLock({ $0.endHold(number) }) else { return }
    before()
    publishStaged()
  }

  private func tellOfLost(_ pieces: Int) {
    let words = "\(pieces) pieces of the agent's events came faster than the disk took them, and are lost"
    logger.warning("\(words)")
    for peer in state.withLock({ Array($0.peers.values) }) { peer.send(BridgeNotice.error(words, where: "events")) }
  }

  private func publish(_ arrival: EventStaging.Arrival, _ state: inout State, _ turn: inout Turn) {
    switch arrival {
    case .event(let name, let data, let time):
      let timestamp = BridgeTimestamp.text(time)
      data.withUnsafeBytes { publish(name, $0, time, timestamp, &state, &turn) }
    case .lines(let lines, let time):
      let timestamp = BridgeTimestamp.text(time)
      lines.withUnsafeBytes { buffer in
        var framer = LineFramer(maximumLineLength: .max)
        framer.feed(buffer) { framed in
          guard case .line(let line) = framed, let name = Self.type(of: line) else { return }
          switch name {
          case "agent_start": turn.runState = false
          case "agent_end", "agent_settled": turn.runState = true
          default: break
          }
          publish(name, line, time, timestamp, &state, &turn)
        }
      }
    }
  }

  private func publish(
    _ event: String, _ data: UnsafeRawBufferPointer, _ time: Int64, _ timestamp: String, _ state: inout State,
    _ turn: inout Turn
  ) {
    var summary: [UInt8]?
    var ref: Int?
    do {
      summary = try reader.summary(ofCut: event, data, state.journal)
      if let summary {
        _ = try summary.withUnsafeBytes { try state.journal.append(event, time: time, $0, isSummary: true) }
      } else {
        ref = try state.journal.append(event, time: time, data)
      }
    } catch {
      // Clients follow the session without its history, too.
      turn.failure = error
    }
    guard state.hasSubscribers else { return }
    if let summary {
      BridgeEnvelope(event: event, timestamp: timestamp, data: summary).append(to: &state.published)
    } else {
      reader.envelope(event, timestamp, data, ref).append(to: &state.published)
    }
    state.published.append(UInt8(ascii: "\n"))
    if state.published.count >= Self.bytesInOneWrite { state.sendPublished() }
  }

  private static func type(of line: UnsafeRawBufferPointer) -> String? {
    var type: String?
    var cursor = JSONCursor(line)
    _ = cursor.members { key, cursor in
      guard key.equals("type") else { return true }
      type = cursor.text()
      return false
    }
    return type
  }

  // MARK: - Clients

  /// The answer to a request for history: a JSON object.
  func history(_ query: BridgeRequest.HistoryQuery) throws -> [UInt8] {
    try state.withLock { try reader.answer(query, from: $0.journal) }
  }

  /// Adds a client: it is sent `bridge_hello`, and then every event.
  ///
  /// - Returns: the client's number; `nil` once the bridge is stopped.
  func add(_ peer: BridgePeer) throws -> Int? {
    try state.withLock { state in
      guard !state.isStopped else { return nil }
      // First: a client that has read its greeting misses nothing that comes after it.
      process.recordUpdates(true)
      peer.send(try BridgeNotice.hello(state.record))
      peer.subscribe(true)
      state.nextPeer += 1
      state.peers[state.nextPeer] = peer
      return state.nextPeer
    }
  }

  func remove(_ number: Int) {
    state.withLock { state in
      state.peers.removeValue(forKey: number)
      if state.peers.isEmpty { process.recordUpdates(false) }
    }
  }

  /// Tells the clients that the bridge ends, and closes their connections when they have read it.
  ///
  /// - Returns: the clients, which may not read.
  func stop(reason: String) -> [BridgePeer] {
    repeat { publishSome() } while staging.withLock { $0.endTurn() }
    let peers: [BridgePeer] = state.withLock { state in
      state.isStopped = true
      defer { state.peers = [:] }
      return Array(state.peers.values)
    }
    for peer in peers {
      peer.send(BridgeNotice.stop(reason: reason))
      peer.finish()
    }
    return peers
  }
}
