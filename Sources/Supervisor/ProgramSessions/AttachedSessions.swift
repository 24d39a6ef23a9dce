package import AgentExtension
package import AgentRuntime
package import AgentSessions
internal import CLinux
internal import ChatCommands
package import ConversationSessions
internal import Conversations
package import Logging
internal import RelayConcurrency
internal import RelayLogging
internal import RelayModel
package import RelayStore
internal import RelayText
package import RelayWire
package import SessionCatalog
internal import SessionStates

/// The sessions whose agents people run in terminals: an agent connects, turns to another session, and leaves.
package final class AttachedSessions: Sendable {
  private let store: SQLiteStore
  private let sessions: SessionRegistry
  private let bindings: SessionBindings
  private let directory: ConversationDirectory
  private let prompts: PromptRouter
  private let logger: Logger
  /// Of each process, by its pid, the session that it was attached to last, or is about to be.
  private let latest = Locked<[Int32: Attachment]>([:])

  private struct Attachment {
    let process: AttachedProcess
    let session: String

    var isAlive: Bool { relay_process_start_time(process.pid) == process.startTime }
  }

  private static let maximumIDLength = 128

  package init(
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

  /// The session of an agent that a person runs; made where there is none. A session has one agent: another is refused while
  /// the first is connected.
  package func session(
    _ id: String, name: String?, directory: String, for process: AttachedProcess
  ) async throws(WireError) -> NamedSession {
    guard (1...Self.maximumIDLength).contains(id.utf8.count), id.utf8.allSatisfy(Self.isOfID) else {
      throw WireError(
        .invalidParams, "session: 1 to \(Self.maximumIDLength) of letters, digits, \".\", \"_\", \":\" and \"-\"")
    }
    guard directory.hasPrefix("/") else { throw WireError(.invalidParams, "directory: an absolute path is needed") }
    let session: Session
    do {
      session = try await sessions.attached(
        id, name: name.map { TextSanitizer.line($0, limit: 48) }, directory: directory, emit: prompts.emit)
    } catch {
      throw WireError(.invalidRequest, "session: \(error)")
    }
    if let other = await session.connection?.process, other.pid != process.pid, !other.hasEnded {
      throw WireError(
        .invalidRequest, "session: pi has it open in another terminal, too (process \(other.pid)); close one")
    }
    return NamedSession(id: session.id, name: await session.name)
  }

  /// Gives a session its agent. Conversations that talked to the session from which the same pi has turned away follow it.
  ///
  /// - Parameters:
  ///   - turned: the terminal has turned to the session from another.
  ///   - connect: answers the process, which from then on counts as the session's agent; `nil` where it has left.
  package func attach(
    _ process: AttachedProcess, to id: String, turned: Bool, connect: () async -> AttachedAgent?
  ) async {
    // Before the answer: the process may at once open another connection, on which it makes requests as an agent.
    let before = latest.withLock { latest in
      latest = latest.filter(\.value.isAlive)
      return latest.updateValue(Attachment(process: process, session: id), forKey: process.pid)
    }
    guard let agent = await connect(), let session = await sessions.session(id) else {
      return latest.withLock { $0[process.pid] = before }
    }
    await session.attach(agent)
    logger.with("session", id).notice("pi in a terminal (process \(process.pid)) is connected")
    if turned, let before, before.session != id { await moveConversations(from: before.session, to: session) }
  }

  /// The processes that are or were attached, with their latest sessions. The last connection of one may have ended a moment ago.
  package var processes: [Int32: String] {
    latest.withLock { $0.filter(\.value.isAlive).mapValues(\.session) }
  }

  // MARK: - The person leaves

  /// Takes a session away from all conversations, and tells them. The messages of theirs that wait are dropped.
  ///
  /// - Returns: the number of conversations.
  package func disconnect(_ id: String) async throws(WireError) -> Int {
    guard let session = await sessions.session(id) else { throw WireError(.invalidParams, "the session was closed") }
    let keys: [ConversationKey]
    do {
      keys = try await store.conversations(of: id)
    } catch {
      throw WireError(.internalError, "the chats of the session could not be read: \(error)")
    }
    for key in keys { await bindings.unbind(key, from: id) }
    _ = await session.drop { keys.contains($0) }
    let chats = keys.filter { $0 != SessionBindings.main }
    for key in chats {
      let next = bindings.beginsByWriting(key) ? "Your next message starts another." : SessionMenu.advice
      directory.say("The session \(await session.name) was disconnected in its terminal. \(next)", to: key)
    }
    return chats.count
  }

  /// The terminal leaves a session; its connections end.
  ///
  /// - Parameter reason: see `SessionDetach`.
  package func detach(_ id: String, reason: String?) async {
    let farewell: TerminalPresence.Farewell
    switch reason {
    case "disconnect": farewell = .disconnected
    // Conversations follow to the next session, or pi is back at once.
    case "new", "resume", "fork", "reload": return
    default: farewell = .ended
    }
    await sessions.awake(id)?.takeFarewell(farewell)
  }

  private func moveConversations(from id: String, to session: Session) async {
    do {
      try await bindings.movePairings(from: id, to: session.id)
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
