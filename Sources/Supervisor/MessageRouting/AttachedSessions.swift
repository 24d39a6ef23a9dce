package import AgentExtension
internal import AgentRuntime
package import AgentSessions
internal import Conversations
internal import Logging
internal import RelayConcurrency
internal import RelayLogging
internal import RelayModel
internal import RelayStore
internal import RelayText
package import RelayWire

/// The sessions whose agents people run in terminals: an agent connects, turns to another session, and leaves.
package final class AttachedSessions: Sendable {
  private let store: SQLiteStore
  private let sessions: SessionRegistry
  private let bindings: SessionBindings
  private let directory: ConversationDirectory
  private let prompts: PromptRouter
  private let logger: Logger
  /// The session that each process was attached to last.
  private let latest = Locked<[Int32: String]>([:])

  private static let maximumIDLength = 128

  init(
    store: SQLiteStore, sessions: SessionRegistry, bindings: SessionBindings, directory: ConversationDirectory,
    prompts: PromptRouter, logger: Logger
  ) {
    self.store = store
    self.sessions = sessions
    self.bindings = bindings
    self.directory = directory
    self.prompts = prompts
    self.logger = logger
  }

  /// The session of an agent that a person runs; made where there is none.
  package func session(
    _ id: String, name: String?, directory: String
  ) async throws(WireError) -> NamedSession {
    guard (1...Self.maximumIDLength).contains(id.utf8.count), id.utf8.allSatisfy(Self.isOfID) else {
      throw WireError(
        .invalidParams, "session: 1 to \(Self.maximumIDLength) of letters, digits, \".\", \"_\", \":\" and \"-\"")
    }
    guard directory.hasPrefix("/") else { throw WireError(.invalidParams, "directory: an absolute path is needed") }
    do {
      let session = try await sessions.attached(
        id, name: name.map { TextSanitizer.line($0, limit: 48) }, directory: directory, emit: prompts.emit)
      return NamedSession(id: session.id, name: await session.name)
    } catch {
      throw WireError(.invalidRequest, "session: \(error)")
    }
  }

  /// Gives a session its agent. Conversations that talked to the session from which the same pi has turned away follow it.
  package func attach(_ agent: AttachedAgent, to id: String, turned: Bool) async {
    guard let session = await sessions.session(id) else { return }
    let before = latest.withLock { $0.updateValue(id, forKey: agent.process.pid) }
    await session.attach(agent)
    logger.with("session", id).notice("pi in a terminal (process \(agent.process.pid)) is connected")
    if turned, let before, before != id { await moveConversations(from: before, to: session) }
  }

  package func isAttached(_ pid: Int32) async -> Bool {
    guard let id = latest.withLock({ $0[pid] }) else { return false }
    return await sessions.awake(id)?.connection?.process.pid == pid
  }

  private func moveConversations(from id: String, to session: Session) async {
    do {
      for key in try await store.conversations(of: id) {
        await bindings.bind(key, to: session)
        directory.say(
          "The terminal has turned to the session \(await session.name), and so has this conversation.", to: key)
      }
    } catch {
      logger.with("session", id).error("conversations could not follow the terminal to another session: \(error)")
    }
  }

  private static func isOfID(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"),
      UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
