internal import AgentExtension
internal import AgentRuntime
internal import AgentSessions
internal import Approvals
internal import ChatCommands
internal import ControlServer
internal import MessageRouting
internal import ProgramSessions
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayWire
internal import SessionCatalog
internal import ToolApprovals

/// The daemon as the extensions of agents know it: of its own children, and of pi in terminals.
struct AgentExtensions: ExtensionHost, SessionAttachments {
  let machine: String
  let sessions: SessionRegistry
  let commands: SessionCommands
  let requesters: RequesterChannel
  let attachments: AttachedSessions
  let desk: ApprovalDesk
  let pairing: PairingDesk
  let store: SQLiteStore
  /// The state of the daemon.
  let daemonStatus: @Sendable () async -> DaemonStatus

  /// The reasons, in pi's words, for which a terminal turns from one session to another.
  private static let turns: Set<String> = ["new", "resume", "fork"]
  /// The number of steps of approvals that a person is shown.
  private static let shownApprovals = 20

  func approvalSettings() async -> ApprovalSettings {
    let settings = await desk.settings
    return ApprovalSettings(enabled: settings.isEnabled, timeoutSeconds: Int(settings.timeout.components.seconds))
  }

  // MARK: - Attaching

  func attach(
    _ request: SessionAttachRequest, by process: AttachingProcess,
    connect: @Sendable (ExtensionHello.Reply) async -> RawConnection?
  ) async throws(WireError) {
    let process = AttachedProcess(pid: process.pid, startTime: process.startTime)
    let named = try await attachments.session(
      request.session, name: request.name, directory: request.directory, for: process)
    let reply = ExtensionHello.Reply(machine: machine, session: named, approvals: await approvalSettings())
    let turned = request.reason.map { Self.turns.contains($0) } ?? false
    await attachments.attach(process, to: named.id, turned: turned) {
      guard let connection = await connect(reply) else { return nil }
      return AttachedAgent(
        process: process, input: connection.output, output: connection.input, held: connection.held,
        bridge: request.bridge)
    }
  }

  func wasAttached(_ pid: Int32) -> Bool { attachments.processes[pid] != nil }

  // MARK: - Requests

  func greeting(of session: String) async throws(WireError) -> ExtensionHello.Reply {
    let status = try await commands.status(session)
    return ExtensionHello.Reply(
      machine: machine, session: NamedSession(id: status.id, name: status.name), approvals: await approvalSettings())
  }

  func send(_ text: String, from session: String) async throws(WireError) {
    try await requesters.send(text, from: session)
  }

  func sendFile(_ path: String, caption: String?, from session: String) async throws(WireError) -> String {
    try await requesters.sendFile(path, caption: caption, from: session)
  }

  func spawn(_ request: ExtensionSpawn, from session: String) async throws(WireError) -> NamedSession {
    let directory = try await commands.status(session).directory
    let status = try await commands.create(
      directory: request.directory ?? directory, name: request.name, model: nil, task: nil, beside: directory)
    // Before the task, so that the thread shows it and its answer.
    await requesters.present(status.id, from: session)
    if let task = request.task {
      do { _ = try await commands.prompt(ProgramPrompt(session: status.id, text: task)) } catch {
        throw WireError(
          .unavailable, "the session \(status.name) was begun, but it did not take the task: \(error.message)")
      }
    }
    return NamedSession(id: status.id, name: status.name)
  }

  func approve(_ call: ExtensionApprove, of session: String) async -> ExtensionApprove.Reply {
    var directory = call.cwd
    if directory == nil { directory = await sessions.listing(session)?.status().directory }
    let verdict = await desk.approve(
      ToolCall(
        tool: call.tool, input: call.input, isTruncated: call.truncated == true, directory: directory ?? "/"),
      in: session, within: call.withinSeconds.map { .seconds(max(1, $0)) })
    return ExtensionApprove.Reply(decision: verdict.allows ? .allow : .deny, reason: verdict.reason, by: verdict.person)
  }

  func status(of session: String) async throws(WireError) -> String {
    let status = try await commands.status(session)
    return "Session \(status.name) on \(machine): \(status.words)."
  }

  func approvals(of session: String) async throws(WireError) -> String {
    do {
      let events = try await store.approvalEvents(last: .max).filter { $0.session == session }
      if events.isEmpty { return "No tool call of this session has waited for an approval." }
      return events.suffix(Self.shownApprovals).map { "\($0.kind.rawValue): \($0.tool): \($0.summary)" }
        .joined(separator: "\n")
    } catch {
      throw WireError(.internalError, "the approvals could not be read: \(error)")
    }
  }

  // MARK: - The person at the terminal

  /// Lists what everybody sees: an assistant's session is not shown to whoever looks over a shoulder.
  func sessions(page: Int, seenBy caller: ExtensionCaller) async throws(WireError) -> String {
    let own = try await commands.status(caller.session)
    let listed =
      caller.isTerminal ? await AddressableSessions(from: nil, among: sessions.all()).statuses() : [own]
    return SessionMenu(sessions: listed, current: own.id, page: page, limits: nil, command: "/relay sessions").text
  }

  func findings() async -> String {
    let status = await daemonStatus()
    let settings = await desk.settings
    let lines = [
      "✔ pi-relayd \(status.version), pid \(status.pid)",
      "✔ approvals: \(settings.isEnabled ? "on, with \(settings.rules.count) rule(s)" : "off")",
    ]
    return (lines + status.findings.map { "\($0.isGood ? "✔" : "✖") \($0.text)" }).joined(separator: "\n")
  }

  func sendFileToFollowers(_ path: String, caption: String?, of session: String) async throws(WireError) -> String {
    let sent = try await requesters.sendFileToFollowers(path, caption: caption, of: session)
    return (["Sent \(sent.name) to \(Self.chats(sent.count))."] + sent.problems.map { "Not to another: \($0)." })
      .joined(separator: "\n")
  }

  func disconnect(_ session: String) async throws(WireError) -> String {
    // First: a conversation whose pairing is over is shown nothing but that.
    let revoked = await pairing.revocation.revoke { $0.session == session }
    let others = try await attachments.disconnect(session)
    guard let revoked else { throw PairingDesk.notStored }
    let count = others + Set(revoked.map(\.conversation)).count
    return count == 0 ? "No chat followed it." : "It was taken away from \(Self.chats(count))."
  }

  func detach(_ session: String, reason: String?) async { await attachments.detach(session, reason: reason) }

  private static func chats(_ count: Int) -> String { count == 1 ? "1 chat" : "\(count) chats" }
}
