import AgentExtension
import CLinux
import Glibc
import Logging
import PluginRuntime
import RelayConcurrency
import RelayHome
import RelayJSON
import RelayModel
import RelayTransport
import RelayWire
import TestSupport

@testable import ControlServer

/// The router of a test: notes which terminals come and go.
struct RecordingRouter: PluginEventHandler {
  let comings = Mailbox<String>()
  let goings = Mailbox<String>()

  func connected(_ link: PluginConnection) async { comings.post(link.name) }
  func received(_ request: IncomingRequest, from link: PluginConnection) async { request.reply(Empty()) }
  func disconnected(_ link: PluginConnection) async { goings.post(link.name) }
  func mayEnd(_ link: PluginConnection, wake: @escaping @Sendable () -> Void) async -> Bool { false }
}

/// Pairings that note what is asked of them. A step never comes.
final class RecordingPairing: PairingService {
  let asked = Locked<[String]>([])
  /// Pairings whose caller has gone.
  let takenBack = Mailbox<String>()
  /// Pairings whose connection has ended.
  let voided = Mailbox<String>()

  private func note(_ text: String) { asked.withLock { $0.append(text) } }

  func begin(messenger: String, session: String?, label: String?) async throws(WireError) -> PairingOffer {
    note("begin \(messenger) \(session ?? "-") \(label ?? "-")")
    return PairingOffer(
      pairing: "p1", messenger: messenger, code: "123-456", link: nil, lines: [], expiresInSeconds: 300)
  }

  func step(of pairing: String) async throws(WireError) -> PairingStep {
    note("wait \(pairing)")
    _ = await Mailbox<Void>().next()
    takenBack.post(pairing)
    throw WireError(.unavailable, "taken back")
  }

  func decide(_ decision: PairingDecision, on pairing: String) async throws(WireError) -> String {
    note("decide \(decision.rawValue) \(pairing)")
    return "done"
  }

  func takeBack(_ pairing: String) { voided.post(pairing) }

  var active: [Pairing] {
    ["s1", "s2"].map {
      Pairing(
        id: $0, conversation: ConversationKey(instance: "m/default", conversation: "dm"), person: "u", name: "Ann",
        session: $0, createdAt: 1)
    }
  }

  var trusted: [TrustedPerson] { [] }

  func revoke(session: String?, messenger: String?, user: String?) async throws(WireError) -> [Pairing] {
    note("revoke \(session ?? "-") \(messenger ?? "-") \(user ?? "-")")
    return []
  }

  func untrust(_ person: String, on messenger: String) async throws(WireError) {
    note("untrust \(person) \(messenger)")
  }
}

/// Two sessions that note what is asked of them.
final class RecordingSessions: SessionService {
  /// Events that the test makes.
  final class Feed: SessionEventFeed {
    let reports = Mailbox<SessionReport>()

    func run(_ report: @Sendable (SessionReport) -> Void) async {
      while let one = await reports.next() { report(one) }
    }

    func stop() { reports.close() }
  }

  let asked = Locked<[String]>([])
  let feeds = Mailbox<Feed>()

  private func note(_ text: String) { asked.withLock { $0.append(text) } }

  func list() async -> [SessionStatus] {
    ["s1", "s2"].map {
      SessionStatus(
        id: $0, name: "name of \($0)", directory: "/", activity: .idle, queued: 0, openDialogs: 0, restarts: 0,
        isDemo: false)
    }
  }

  func status(_ session: String) async throws(WireError) -> SessionStatus {
    guard let one = await list().first(where: { $0.id == session || $0.name == session }) else {
      throw WireError(.invalidParams, "session: there is no session \(session)")
    }
    return one
  }

  func questions(of session: String) async throws(WireError) -> [OpenQuestion] {
    [OpenQuestion(id: "q", session: session, kind: "confirm", title: "Sure?")]
  }

  func feed(of session: String) async throws(WireError) -> Feed {
    let feed = Feed()
    feeds.post(feed)
    return feed
  }

  func prompt(_ request: ProgramPrompt) async throws(WireError) -> PromptReceipt {
    note("prompt \(request.session) \(request.text) \(request.delivery?.rawValue ?? "nil") \(request.id ?? "nil")")
    return PromptReceipt(message: request.id ?? "made", stage: "received")
  }

  func abort(_ session: String) async throws(WireError) -> String {
    note("abort \(session)")
    return "run"
  }

  func answer(_ session: String, question: String?, _ text: String?) async throws(WireError) -> String {
    note("answer \(session) \(question ?? "nil") \(text ?? "nil")")
    return "yes"
  }

  func rename(_ session: String, to name: String) async throws(WireError) -> String {
    note("rename \(session) \(name)")
    return name + "-2"
  }

  func use(model: String, in session: String) async throws(WireError) { note("model \(session) \(model)") }

  func compact(_ session: String, keeping instructions: String?) async throws(WireError) {
    note("compact \(session) \(instructions ?? "nil")")
  }

  func close(_ session: String) async throws(WireError) { note("close \(session)") }

  func create(
    directory: String?, name: String?, model: String?, task: String?
  ) async throws(WireError) -> SessionStatus {
    note("create \(directory ?? "nil") \(name ?? "nil") \(model ?? "nil") \(task ?? "nil")")
    return try await status("s2")
  }
}

/// Agents in terminals, and the extensions of agents: notes what is asked, and echoes what an attached agent writes.
final class RecordingExtensions: SessionAttachments, ExtensionHost {
  let asked = Locked<[String]>([])
  let attachedProcesses = Locked<Set<Int32>>([])
  let approvals = Mailbox<Bool>()
  /// Calls that wait for an approval, and those that do so no longer because nobody waits for the answer.
  let waitingCalls = Mailbox<String>()
  let withdrawnCalls = Mailbox<String>()

  private func note(_ text: String) { asked.withLock { $0.append(text) } }

  private func greeting(_ session: String) -> ExtensionHello.Reply {
    ExtensionHello.Reply(
      machine: "here", session: NamedSession(id: session, name: "name of \(session)"),
      approvals: ApprovalSettings(enabled: true, timeoutSeconds: 120))
  }

  func attach(
    _ request: SessionAttachRequest, by process: AttachingProcess,
    connect: @Sendable (ExtensionHello.Reply) async -> RawConnection?
  ) async throws(WireError) {
    guard request.session != "taken" else { throw WireError(.invalidRequest, "session: it is taken") }
    note("attach \(request.session) \(process.pid)")
    guard let connection = await connect(greeting(request.session)) else { return note("lost") }
    let outbox = Outbox(descriptor: connection.output, limit: 1 << 20)
    let reader = LineReader(
      descriptor: connection.input, maximumLineLength: 1 << 20, held: connection.held,
      handlers: .init(
        line: { framed in
          guard case .line(let bytes) = framed else { return }
          try? outbox.send(Array(bytes) + [0x0A])
        }, end: { outbox.abandon() }))
    try? reader.start()
  }

  func wasAttached(_ pid: Int32) -> Bool { attachedProcesses.withLock { $0.contains(pid) } }

  func greeting(of session: String) async throws(WireError) -> ExtensionHello.Reply { greeting(session) }
  func send(_ text: String, from session: String) async throws(WireError) { note("send \(session) \(text)") }

  func sendFile(_ path: String, caption: String?, from session: String) async throws(WireError) -> String {
    note("file \(session) \(path) \(caption ?? "nil")")
    return path
  }

  func spawn(_ request: ExtensionSpawn, from session: String) async throws(WireError) -> NamedSession {
    note("spawn \(session) \(request.task ?? "nil")")
    return NamedSession(id: "new", name: "new")
  }

  func approve(_ call: ExtensionApprove, of session: String) async -> ExtensionApprove.Reply {
    waitingCalls.post(call.call)
    let allows = await approvals.next() ?? false
    if Task.isCancelled { withdrawnCalls.post(call.call) }
    return ExtensionApprove.Reply(decision: allows ? .allow : .deny, reason: allows ? nil : "no")
  }

  func status(of session: String) async throws(WireError) -> String { "status of \(session)" }
  func approvals(of session: String) async throws(WireError) -> String { "approvals of \(session)" }

  func sessions(page: Int, seenBy caller: ExtensionCaller) async throws(WireError) -> String {
    caller.isTerminal ? "page \(page) for \(caller.session)" : "only \(caller.session)"
  }

  func findings() async -> String { "findings" }

  func sendFileToFollowers(_ path: String, caption: String?, of session: String) async throws(WireError) -> String {
    "sent \(path) of \(session)"
  }

  func disconnect(_ session: String) async throws(WireError) -> String { "disconnected \(session)" }
  func detach(_ session: String, reason: String?) async { note("detach \(session) \(reason ?? "nil")") }
}

/// A server in a folder of its own, with the daemon's part played by the test.
final class ControlStage: Sendable {
  let router = RecordingRouter()
  let sessions = RecordingSessions()
  let pairing = RecordingPairing()
  let extensions = RecordingExtensions()
  let stops = Mailbox<Void>()
  let agents = Locked<[Int32: String]>([:])
  let log = Mailbox<String>()
  let clock = ManualClock()
  private let home: HomeDirectory
  private let folder: TemporaryFolder
  let server: ControlServer

  private init(agentsReachOthers: Bool) throws {
    folder = try TemporaryFolder()
    home = HomeDirectory(path: folder.path)
    try home.prepare()
    server = try ControlServer(
      home: home,
      handlers: .init(
        status: {
          DaemonStatus(
            version: "1", pid: 7, home: "/home", machine: "here", uptime: 0, configuration: nil, agent: nil,
            plugins: [], sessions: [], deliveries: nil, terminals: nil, channels: nil, conversations: nil,
            problems: [], upgrades: 0)
        },
        plugin: { name, change in name == "discord" ? nil : "there is no plugin \(name) to \(change)" },
        revokeGrant: { "there is no grant \($0)" }, reload: { ["line 3: no such setting"] },
        upgrade: { "\($0) is not executable" },
        stop: { [stops] in stops.post(()) }, audience: router, sessions: sessions, pairing: pairing,
        attachments: extensions, extensions: extensions,
        agents: { [agents] in agents.withLock { $0 } }, agentsReachOthers: agentsReachOthers),
      marker: "PI_RELAY_TEST_MARKER=\(folder.path)", clock: clock,
      logger: .lines { [log] in log.post($0) })
  }

  static func running(
    agentsReachOthers: Bool = false, _ body: (ControlStage) async throws -> Void
  ) async throws {
    let stage = try ControlStage(agentsReachOthers: agentsReachOthers)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await stage.server.run() }
      defer {
        stage.server.stop(leaving: [])
        group.cancelAll()
      }
      try await body(stage)
    }
  }

  /// - Parameter notified: takes notifications.
  func connect(notified: (@Sendable (String, [UInt8]) -> Void)? = nil) throws -> JSONRPCConnection {
    let descriptor = try socket()
    let writer = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    let connection = JSONRPCConnection(input: descriptor, output: writer, notified: notified)
    try connection.start()
    return connection
  }

  var socketPath: String { home.socket }

  /// A connection without anything that reads or writes it.
  func socket() throws -> Int32 {
    let descriptor = relay_connect_unix(home.socket)
    if descriptor < 0 { throw SystemError("connect", code: -descriptor) }
    return descriptor
  }
}
