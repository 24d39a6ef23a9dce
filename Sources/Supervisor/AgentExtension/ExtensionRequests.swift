package import RelayTransport
package import RelayWire

/// A process that makes requests of an extension.
package struct ExtensionCaller: Sendable, Equatable {
  /// The session whose agent the process is, or descends from.
  package let session: String
  /// The process is pi in a person's terminal, and none that pi has started.
  package let isTerminal: Bool

  package init(session: String, isTerminal: Bool) {
    self.session = session
    self.isTerminal = isTerminal
  }
}

/// The daemon as an agent's extension knows it. Every call is about one session, whose agent the caller was seen to be.
package protocol ExtensionHost: Sendable {
  func greeting(of session: String) async throws(WireError) -> ExtensionHello.Reply
  func send(_ text: String, from session: String) async throws(WireError)
  /// - Returns: the name that people see.
  func sendFile(_ path: String, caption: String?, from session: String) async throws(WireError) -> String
  func spawn(_ request: ExtensionSpawn, from session: String) async throws(WireError) -> NamedSession
  func approve(_ call: ExtensionApprove, of session: String) async -> ExtensionApprove.Reply
  func status(of session: String) async throws(WireError) -> String
  func approvals(of session: String) async throws(WireError) -> String

  // Each of the following answers in words for the person at the terminal.

  func sessions(page: Int, seenBy caller: ExtensionCaller) async throws(WireError) -> String
  func findings() async -> String
  func sendFileToFollowers(_ path: String, caption: String?, of session: String) async throws(WireError) -> String
  func disconnect(_ session: String) async throws(WireError) -> String
  /// The terminal leaves the session.
  func detach(_ session: String, reason: String?) async
}

/// Answers the requests of the extensions that agents run with: each is a case of `answer`.
package struct ExtensionRequests: Sendable {
  private let host: any ExtensionHost

  /// The longest text that an agent may send at once, in bytes.
  private static let maximumTextLength = 256 * 1024
  private static let maximumNameLength = 200

  package init(_ host: any ExtensionHost) { self.host = host }

  /// Requests that an agent may make.
  package static let methods = methodsOfTerminals.union([
    ExtensionHello.method, ExtensionSend.method, ExtensionSendFile.method, ExtensionSpawn.method,
    ExtensionApprove.method, ExtensionWithdraw.method, ExtensionStatus.method, ExtensionApprovals.method,
    TerminalSessions.method,
  ])

  /// Requests of a person: a program that the agent has started may not make them.
  private static let methodsOfTerminals: Set<String> = [
    TerminalDoctor.method, TerminalSendFile.method, TerminalDisconnect.method, SessionDetach.method,
  ]

  package func answer(_ request: IncomingRequest, of caller: ExtensionCaller) async {
    let session = caller.session
    do throws(WireError) {
      guard caller.isTerminal || !Self.methodsOfTerminals.contains(request.method) else {
        throw WireError(.forbidden, "\(request.method) is only for pi in a terminal, by /relay")
      }
      switch request.method {
      case ExtensionHello.method:
        let named = try request.params(ExtensionHello.self).session
        guard named == nil || named == session else {
          throw WireError(.forbidden, "session: this process belongs to another session")
        }
        request.reply(try await host.greeting(of: session))
      case ExtensionSend.method:
        try await host.send(try Self.checked(request.params(ExtensionSend.self).text), from: session)
        request.reply(Empty())
      case ExtensionSendFile.method:
        let file = try request.params(ExtensionSendFile.self)
        let name = try await host.sendFile(file.path, caption: file.caption, from: session)
        request.reply(ExtensionSendFile.Reply(name: name))
      case ExtensionSpawn.method:
        let spawn = try Self.checked(request.params(ExtensionSpawn.self))
        request.reply(ExtensionSpawn.Reply(session: try await host.spawn(spawn, from: session)))
      case ExtensionApprove.method:
        request.reply(await host.approve(try request.params(ExtensionApprove.self), of: session))
      case ExtensionStatus.method: request.reply(ExtensionStatus.Reply(text: try await host.status(of: session)))
      case ExtensionApprovals.method:
        request.reply(ExtensionApprovals.Reply(text: try await host.approvals(of: session)))
      case TerminalSessions.method:
        let page = try request.params(TerminalSessions.self).page ?? 1
        request.reply(ExtensionStatus.Reply(text: try await host.sessions(page: page, seenBy: caller)))
      case TerminalDoctor.method: request.reply(ExtensionStatus.Reply(text: await host.findings()))
      case TerminalSendFile.method:
        let file = try request.params(TerminalSendFile.self)
        let text = try await host.sendFileToFollowers(file.path, caption: file.caption, of: session)
        request.reply(ExtensionStatus.Reply(text: text))
      case TerminalDisconnect.method:
        request.reply(ExtensionStatus.Reply(text: try await host.disconnect(session)))
      case SessionDetach.method:
        await host.detach(session, reason: try request.params(SessionDetach.self).reason)
        request.reply(Empty())
      default: throw WireError(.methodNotFound, "there is no method \(request.method)")
      }
    } catch {
      request.fail(error)
    }
  }

  private static func checked(_ text: String) throws(WireError) -> String {
    guard text.contains(where: { !$0.isWhitespace }) else { throw WireError(.invalidParams, "text: it is empty") }
    guard text.utf8.count <= maximumTextLength else {
      throw WireError(.invalidParams, "text: longer than \(ByteCount(maximumTextLength))")
    }
    return text
  }

  private static func checked(_ spawn: ExtensionSpawn) throws(WireError) -> ExtensionSpawn {
    if let task = spawn.task { _ = try checked(task) }
    guard (spawn.name ?? "").utf8.count <= maximumNameLength else {
      throw WireError(.invalidParams, "name: longer than \(maximumNameLength) bytes")
    }
    return spawn
  }
}
