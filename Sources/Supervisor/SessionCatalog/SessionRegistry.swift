package import AgentRuntime
package import AgentSessions
internal import FoundationEssentials
internal import Logging
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayLogging
package import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayTransport
package import SessionStates

/// All sessions of this daemon.
///
/// A session of an earlier daemon is no more than its record until something addresses it: neither memory nor the time of a
/// stop grows much with sessions that sleep.
package actor SessionRegistry {
  private enum Entry {
    case awake(Session)
    /// Indirect: there may be thousands, and free places in the table are as large as used ones.
    indirect case asleep(SessionRecord)
  }

  private let ordinaryProfile: SessionProfile
  private let assistantProfile: SessionProfile
  /// Of sessions whose agents people run in terminals: these take no slot, and are not ended for want of work.
  private let attachedProfile: SessionProfile
  private let taskScope = TaskScope(executor: globalConcurrentExecutor, starter: EventLoop.shared)
  private var entries: [String: Entry] = [:]
  private var order: [String] = []
  /// The sessions that no daemon takes up again: each ends with the check that it was begun for.
  package private(set) var passing: [Session] = []
  /// Told what happens in sessions of earlier daemons.
  private var emitOfRestored: @Sendable (String, SessionEvent) -> Void = { _, _ in }
  /// When sessions of earlier daemons were restored, in seconds since 1970.
  private var restored = 0.0
  private var isStopped = false

  /// - Parameters:
  ///   - ordinary: of sessions without a role.
  ///   - assistants: of sessions with one.
  package init(ordinary: SessionProfile, assistants: SessionProfile) {
    ordinaryProfile = ordinary
    assistantProfile = assistants
    var attached = ordinary
    attached.settings.idleTimeout = nil
    attached.dependencies.places = AgentSlots(maximum: .max, maximumStarting: .max)
    attachedProfile = attached
  }

  package nonisolated var dependencies: SessionDependencies { ordinaryProfile.dependencies }

  private func profile(for role: SessionRole?) -> SessionProfile { role == nil ? ordinaryProfile : assistantProfile }

  /// Runs every session's work until `stop`.
  package func run() async {
    await dependencies.places.whenFull { [weak self] in await self?.makeRoom(amongAssistants: false) }
    await assistantProfile.dependencies.places.whenFull { [weak self] in await self?.makeRoom(amongAssistants: true) }
    await taskScope.run()
  }

  /// Makes a session; its agent starts with the first message.
  ///
  /// - Parameter emit: told everything that happens in it, in order; must not wait.
  package func create(
    name: String?, directory: String?, model: String? = nil, wantsToolImages: Bool = false, role: SessionRole? = nil,
    home: ConversationKey? = nil, emit: @escaping @Sendable (String, SessionEvent) -> Void
  ) async -> Session {
    let id = UUID().uuidString.lowercased()
    let directory = directory ?? defaultDirectory(for: role)
    let name = freeName(
      name ?? directory.split(separator: "/").last.map(String.init) ?? "session", seenFrom: home)
    let record = SessionRecord(
      id: id, name: name, directory: directory, model: model, wantsToolImages: wantsToolImages, role: role, home: home)
    let session = add(record, emit)
    await save(record)
    return session
  }

  /// The session of an agent that a person runs in a terminal; made where there is none.
  ///
  /// - Throws: where the daemon runs the session itself: two agents would write into one transcript.
  package func attached(
    _ id: String, name: String?, directory: String, emit: @escaping @Sendable (String, SessionEvent) -> Void
  ) async throws(AgentUnavailable) -> Session {
    if let known = session(id) {
      guard known.isAttached else {
        throw AgentUnavailable(
          description:
            "pi-relayd runs this session itself; close it there first (/close), or begin another in the terminal")
      }
      return known
    }
    let wish = name ?? directory.split(separator: "/").last.map(String.init) ?? "session"
    let record = SessionRecord(
      id: id, name: freeName(wish, seenFrom: nil), directory: directory, model: nil, wantsToolImages: false,
      isAttached: true)
    let session = add(record, emit)
    await save(record)
    return session
  }

  /// Brings back the sessions of the daemon before this one, asleep.
  ///
  /// - Parameter emit: told everything that happens in them, in order; must not wait.
  package func restore(emit: @escaping @Sendable (String, SessionEvent) -> Void) async throws {
    emitOfRestored = emit
    restored = dependencies.timeSource.wallTime()
    for record in try await dependencies.store.sessions() where entries[record.id] == nil {
      list(record, .asleep(record))
    }
  }

  private func add(_ record: SessionRecord, _ emit: @escaping @Sendable (String, SessionEvent) -> Void) -> Session {
    let session = make(record, emit)
    list(record, .awake(session))
    return session
  }

  private func list(_ record: SessionRecord, _ entry: Entry) {
    entries[record.id] = entry
    order.append(record.id)
    if case .awake = entry { names[record.id] = record.name }
  }

  private func unlist(_ id: String) {
    entries[id] = nil
    names[id] = nil
    order.removeAll { $0 == id }
  }

  private func make(
    _ record: SessionRecord, isRestored: Bool = false, isListed: Bool = true,
    _ emit: @escaping @Sendable (String, SessionEvent) -> Void
  ) -> Session {
    let profile = record.isAttached ? attachedProfile : profile(for: record.role)
    let session = Session(
      record, pi: profile.pi, settings: profile.settings, memory: profile.retention(record),
      dependencies: profile.dependencies, taskScope: taskScope, isRestored: isRestored, isListed: isListed,
      phase: isStopped ? .finished(forShutdown: true) : .open, emit: { emit(record.id, $0) })
    if !isStopped { taskScope.add(on: EventLoop.shared) { await session.work() } }
    return session
  }

  private func defaultDirectory(for role: SessionRole?) -> String {
    profile(for: role).settings.directory ?? dependencies.environment["HOME"] ?? "/"
  }

  /// Makes a session for one message of the supervisor's own: it is not listed, and its transcript begins empty.
  package func heartbeatSession(emit: @escaping @Sendable (String, SessionEvent) -> Void) -> Session {
    let session = make(
      SessionRecord(
        id: UUID().uuidString.lowercased(), name: "heartbeat", directory: defaultDirectory(for: .assistant), model: nil,
        wantsToolImages: false, role: .assistant), isListed: false, emit)
    passing.append(session)
    return session
  }

  package func closeUnstored(_ session: Session) async {
    await session.close()
    passing.removeAll { $0 === session }
  }

  /// Sessions of conversations with the assistant.
  package func assistants() -> [SessionListing] { all().filter { $0.role != nil } }

  private func save(_ record: SessionRecord) async {
    do {
      try await dependencies.store.saveSession(record)
    } catch {
      logger(of: record).error("the session was not stored and would not outlive this daemon: \(error)")
    }
  }

  /// Of the sessions that are awake.
  private var names: [String: String] = [:]

  private func name(of id: String) -> String? {
    if case .asleep(let record)? = entries[id] { record.name } else { names[id] }
  }

  /// A number in a name must not tell of sessions that the conversation is not to know of.
  private func freeName(_ wish: String, seenFrom conversation: ConversationKey?) -> String {
    let wish = TextSanitizer.line(wish, limit: 48)
    let taken = Set(AddressableSessions(from: conversation, among: all()).sessions.compactMap { name(of: $0.id) })
    guard taken.contains(wish) else { return wish }
    return (2...).lazy.map { "\(wish)-\($0)" }.first { !taken.contains($0) } ?? wish
  }

  /// The folder with its links resolved, where people may begin a session in it from chat; `nil` where they may not.
  package func workplace(_ folder: String) -> String? {
    SessionRoots.resolved(folder, within: ordinaryProfile.settings.roots)
  }

  private func logger(of record: SessionRecord) -> Logger {
    dependencies.logger.with(session: record.id, named: record.name)
  }

  func end(_ handover: ChildProcess.Snapshot) {
    do {
      let child = try ChildProcess.adopt(handover, guardian: dependencies.guardian)
      taskScope.add { [clock = dependencies.timeSource.clock] in
        await child.tearDown([.wait(.seconds(3))], clock: clock)
      }
    } catch {
      dependencies.logger.error("an agent could not be ended: \(error)")
    }
  }

  /// A session to work with: one that sleeps is woken.
  package func session(_ id: String) -> Session? {
    switch entries[id] {
    case nil: return nil
    case .awake(let session): return session
    case .asleep(let record):
      let session = make(record, isRestored: true, emitOfRestored)
      entries[id] = .awake(session)
      names[id] = record.name
      return session
    }
  }

  /// A session that may have something to tell; `nil` while it sleeps.
  package func awake(_ id: String) -> Session? {
    if case .awake(let session)? = entries[id] { session } else { nil }
  }

  /// A session as lists show it. One that sleeps sleeps on.
  package func listing(_ id: String) -> SessionListing? {
    switch entries[id] {
    case nil: nil
    case .awake(let session): SessionListing(session)
    case .asleep(let record): SessionListing(record, configuredModel: profile(for: record.role).pi.model)
    }
  }

  package func all() -> [SessionListing] { order.compactMap(listing) }

  /// The sessions that may have something to do: one that sleeps has not.
  package func awake() -> [Session] {
    order.compactMap { id in if case .awake(let session)? = entries[id] { session } else { nil } }
  }

  package func statuses() async -> [SessionStatus] { await all().statuses() }

  /// The processes of agents, with their sessions.
  package func agentProcesses() async -> [Int32: String] {
    var processes: [Int32: String] = [:]
    for session in awake() + passing {
      if let pid = await session.connection?.process.pid { processes[pid] = session.id }
    }
    return processes
  }

  package func rename(_ session: Session, to name: String, from conversation: ConversationKey) async -> String {
    names[session.id] = nil
    let name = freeName(name, seenFrom: conversation)
    names[session.id] = name
    await session.rename(name)
    await save(await session.record)
    return name
  }

  package func use(model: String, in session: Session) async {
    await session.use(model: model)
    await save(await session.record)
  }

  /// Closes an assistant's session that has not been used for so long.
  package func closeIfUnused(_ id: String, for limit: Duration) async -> Bool {
    switch entries[id] {
    case nil: return false
    case .awake(let session):
      guard await session.beginsToCloseIfUnused(for: limit) else { return false }
      await close(session)
      return true
    case .asleep(let record):
      let retention = RetentionState(profile(for: record.role).retention(record), now: restored)
      let now = dependencies.timeSource.wallTime()
      guard await Self.isUnused(retention, for: limit, now: now) else { return false }
      // It may have been addressed meanwhile.
      guard case .asleep? = entries[id] else { return await closeIfUnused(id, for: limit) }
      unlist(id)
      do { try await Self.forget(retention) } catch {
        logger(of: record).error("the transcript could not be removed: \(error)")
      }
      await storeEnd(of: id)
      return true
    }
  }

  // Both read a directory, which must not hold up those who look for a session.

  @concurrent
  private static func isUnused(_ retention: RetentionState, for limit: Duration, now: Double) async -> Bool {
    retention.isUnused(for: limit, now: now)
  }

  @concurrent
  private static func forget(_ retention: RetentionState) async throws { try retention.memory?.forget() }

  package func close(_ session: Session) async {
    unlist(session.id)
    await session.close()
    await storeEnd(of: session.id)
  }

  private func storeEnd(of id: String) async {
    do {
      try await dependencies.store.removeSession(id)
    } catch {
      dependencies.logger.with("session", id).error("the end of session \(id) could not be stored: \(error)")
    }
  }

  /// Ends an idle agent, the one listed first.
  private func makeRoom(amongAssistants: Bool) async {
    for session in awake() where !session.isAttached && (session.role != nil) == amongAssistants {
      if await session.makeRoom() { return }
    }
  }

  /// Waits up to `drain` for running work, then ends every agent.
  ///
  /// - Returns: the work that was cut short, in words.
  package func stop(drain: Duration) async -> [String] {
    let clock = dependencies.timeSource
    let deadline = clock.now() + drain
    while clock.now() < deadline, await isAnyBusy() {
      guard await clock.sleep(for: .milliseconds(50)) else { break }
    }
    let sessions = awake() + passing
    isStopped = true
    for session in sessions { await session.willPark() }
    await dependencies.places.close()
    await assistantProfile.dependencies.places.close()
    let cut = await withTaskGroup(of: String?.self) { group in
      for session in sessions { group.addTask { await session.shutDown() } }
      var lines: [String] = []
      for await line in group { if let line { lines.append(line) } }
      return lines
    }
    taskScope.close()
    return cut
  }

  private func isAnyBusy() async -> Bool {
    for session in awake() where await session.isAtWork { return true }
    return false
  }
}
