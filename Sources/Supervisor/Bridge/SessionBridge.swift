internal import AgentRuntime
internal import BridgeProtocol
internal import Logging
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
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
    var hasFailed = false
    var isStopped = false

    var subscribers: [BridgePeer] { peers.values.filter(\.isSubscribed) }
  }

  private struct Staging {
    var lines: [UInt8] = []
    var isScheduled = false
    /// Events that came faster than the disk took them.
    var lost = 0
  }

  /// Bytes of events that may wait for the disk.
  private static let maximumStagedBytes = 16 << 20
  static let maximumClients = 32

  let session: String
  let pid: Int32
  let limits: BridgeLimits
  private let folder: BridgeFolder
  private let process: PiConnection
  private let timeSource: TimeSource
  private let logger: Logger
  private let state: Locked<State>
  private let staging = Locked(Staging())

  init(
    _ process: PiConnection, of session: ObservedSession, hostName: String, folder: BridgeFolder, limits: BridgeLimits,
    timeSource: TimeSource, logger: Logger
  ) {
    self.session = session.id
    self.process = process
    self.folder = folder
    self.limits = limits
    self.timeSource = timeSource
    self.logger = logger
    pid = process.process.pid
    let now = BridgeTimestamp.text(Self.milliseconds(timeSource))
    var record = RegistryRecord(
      pid: pid, processStartTime: process.process.startTime, hostname: hostName, cwd: session.directory,
      socketPath: folder.socket(pid), bridgeDir: folder.path, startedAt: now, updatedAt: now)
    record.sessionId = session.id
    record.sessionName = session.name
    record.isIdle = true
    record.hasPendingMessages = false
    state = Locked(State(record: record, journal: EventJournal(path: folder.journal(pid), limits: limits)))
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

  func learn(_ told: PiState) {
    update("state") { record in
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
  func take(_ lines: [UInt8]) {
    let mustSchedule = staging.withLock { staging in
      guard staging.lines.count + lines.count <= Self.maximumStagedBytes else {
        staging.lost += 1
        return false
      }
      staging.lines += lines
      defer { staging.isScheduled = true }
      return !staging.isScheduled
    }
    if mustSchedule { EventLoop.logs.perform { [self] in publishStaged() } }
  }

  private func publishStaged() {
    let (lines, lost) = staging.withLock { staging in
      defer { staging = Staging() }
      return (staging.lines, staging.lost)
    }
    if lost > 0 { logger.warning("\(lost) pieces of the agent's events came faster than the disk took them") }
    var runState: Bool?
    lines.withUnsafeBytes { buffer in
      var framer = LineFramer(maximumLineLength: .max)
      framer.feed(buffer) { framed in
        guard case .line(let line) = framed, let name = Self.type(of: line) else { return }
        switch name {
        case "agent_start": runState = false
        case "agent_end", "agent_settled": runState = true
        default: break
        }
        publish(name, line)
      }
    }
    flush()
    if let runState { update(runState ? "agent_end" : "agent_start") { $0.isIdle = runState } }
  }

  /// Publishes an event that is not pi's own.
  ///
  /// - Parameter data: a JSON object.
  func publish(_ event: String, _ data: [UInt8]) {
    EventLoop.logs.perform { [self] in
      data.withUnsafeBytes { publish(event, $0) }
      flush()
    }
  }

  private func publish(_ event: String, _ data: UnsafeRawBufferPointer) {
    let time = Self.milliseconds(timeSource)
    do {
      try state.withLock { state in
        if let summary = try Self.summary(ofCut: event, data, state.journal, limits) {
          _ = try summary.withUnsafeBytes { try state.journal.append(event, time: time, $0, isSummary: true) }
          let envelope = BridgeEnvelope(event: event, timestamp: BridgeTimestamp.text(time), data: summary)
          for peer in state.subscribers { peer.send(envelope.json + [UInt8(ascii: "\n")]) }
          return
        }
        let ref = try state.journal.append(event, time: time, data)
        let subscribers = state.subscribers
        guard !subscribers.isEmpty else { return }
        let line = envelope(event, time, data, ref).json + [UInt8(ascii: "\n")]
        for peer in subscribers { peer.send(line) }
      }
    } catch {
      report(error, where: "history")
    }
  }

  private func flush() {
    do { try state.withLock { try $0.journal.flush() } } catch { report(error, where: "history") }
  }

  /// The summary of an `agent_end` that was too long to be read, made from the messages of its run.
  private static func summary(
    ofCut event: String, _ data: UnsafeRawBufferPointer, _ journal: EventJournal, _ limits: BridgeLimits
  ) throws -> [UInt8]? {
    guard event == "agent_end", JSONFields(data)?["messages"] == nil else { return nil }
    try journal.flush()
    var messages = 0
    var answer: [UInt8]?
    for entry in try journal.entries().reversed() {
      if entry.event == "agent_start" { break }
      guard entry.event == "message_end" else { continue }
      messages += 1
      guard answer == nil, let record = try journal.record(entry) else { continue }
      answer = record.data.withUnsafeBytes { buffer in
        guard let fields = JSONFields(buffer), fields.object("message")?.text("role") == "assistant" else { return nil }
        return fields["message"].map { Array($0) }
      }
    }
    let text = answer ?? []
    return text.withUnsafeBytes {
      EventSummary.agentEnd(messages: messages, answer: answer == nil ? nil : $0, limits: limits)
    }
  }

  private func envelope(_ event: String, _ time: Int64, _ data: UnsafeRawBufferPointer, _ ref: Int) -> BridgeEnvelope {
    let summary = EventSummary(of: data, named: event, limits: limits)
    return BridgeEnvelope(
      event: event, timestamp: BridgeTimestamp.text(time), data: summary.data,
      originalBytes: summary.isTruncated ? summary.originalBytes : nil,
      raw: summary.isTruncated && limits.spillRawEvents ? (folder.journal(pid), ref) : nil)
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

  // MARK: - History

  /// The answer to a request for history: a JSON object.
  func history(_ query: BridgeRequest.HistoryQuery) throws -> [UInt8] {
    try state.withLock { state in
      let journal = state.journal
      try journal.flush()
      let candidates = BridgeHistory.candidates(among: try journal.entries(), query, limits: limits)
      let maximum = query.maxBytes ?? limits.maxHistoryResponseBytes
      var problems: [String] = []
      let (chosen, isTruncated) = try BridgeHistory.newest(of: candidates, maximumBytes: maximum) { entry in
        try compact(entry, journal).map { ($0, $0.envelope.json.count) }
      }
      var events = chosen.map(\.envelope)
      if query.raw { restore(&events, chosen, maximum, &problems) }
      var answer = JSONObjectText()
      answer.add(
        "events", json: Array("[".utf8) + events.map(\.json).joined(separator: [UInt8(ascii: ",")]) + Array("]".utf8))
      answer.add("totalEvents", candidates.count)
      answer.add("responseTruncated", isTruncated)
      answer.add("rawSpillPath", folder.journal(pid))
      if !problems.isEmpty { answer.add("rawErrors", .array(problems.map { .string($0) })) }
      return answer.closed
    }
  }

  private struct Found {
    let record: EventJournal.Record
    var envelope: BridgeEnvelope
  }

  private func compact(_ entry: BridgeHistory.Entry, _ journal: EventJournal) throws -> Found? {
    guard let record = try journal.record(entry) else { return nil }
    var envelope: BridgeEnvelope
    if record.isSummary {
      envelope = BridgeEnvelope(
        event: entry.event, timestamp: BridgeTimestamp.text(entry.time), data: record.data,
        originalBytes: record.originalBytes, rawError: record.problem)
    } else {
      envelope = record.data.withUnsafeBytes { self.envelope(entry.event, entry.time, $0, entry.ref) }
    }
    return Found(record: record, envelope: envelope)
  }

  /// Puts whole events into the places of their summaries, the newest first, as far as they fit.
  private func restore(
    _ events: inout [BridgeEnvelope], _ found: [Found], _ maximum: Int, _ problems: inout [String]
  ) {
    var size = events.reduce(0) { $0 + $1.json.count }
    for index in events.indices.reversed() where events[index].originalBytes != nil {
      let record = found[index].record
      if record.isSummary {
        if let problem = record.problem { problems.append(problem) }
        continue
      }
      var whole = events[index]
      whole.data = record.data
      whole.originalBytes = nil
      whole.isRestored = true
      let grown = size - events[index].json.count + whole.json.count
      guard events.count == 1 || maximum <= 0 || grown <= maximum else { continue }
      events[index] = whole
      size = grown
    }
  }

  // MARK: - Clients

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
