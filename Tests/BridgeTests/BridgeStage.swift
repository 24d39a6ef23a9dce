import AgentRuntime
import Bridge
import BridgeProtocol
import Glibc
import Logging
import PiRPC
import ProcessSupervision
import RelayConcurrency
import RelayJSON
import RelayLogging
import RelayTransport
import RelayWire
import TestSupport
import Testing

/// The sessions of a test: notes what is asked of them.
struct RecordingHost: BridgeHost {
  let asked = Locked<[String]>([])
  let admitted = Locked<Set<String>>(["s1"])
  /// A prompt is answered when the test posts here.
  let delivered = Mailbox<Void>()

  let isAgent = Locked(false)
  /// The way that prompts go.
  let delivery = Locked(BridgeDelivery(way: .followUp, wasIdle: false))

  func admits(_ connection: Int32, to session: String) async -> BridgeAdmission {
    guard admitted.withLock({ $0.contains(session) }) else { return .none }
    return isAgent.withLock { $0 } ? .looking : .acting
  }

  func state(of session: String) async -> BridgedSession? {
    BridgedSession(name: "named", isIdle: true, hasPendingMessages: true)
  }

  func commands(of session: String) async -> [JSONValue] { [.object(["name": .string("skill:x")])] }
  func follow(
    _ session: String, _ publish: @escaping @Sendable (_ event: String, _ data: [UInt8]) -> Void
  ) -> @Sendable () -> Void {
    {}
  }

  func questions(of session: String) async -> [JSONValue] { [.object(["id": .string("que_1")])] }

  func answer(_ question: String, of session: String, _ answers: JSONValue) async throws {
    guard question == "que_1" else { throw BridgeRefusal("there is no open question \(question)") }
    asked.withLock { $0.append("answer \(question)") }
  }

  func reject(_ question: String, of session: String) async throws {
    asked.withLock { $0.append("reject \(question)") }
  }

  func prompt(_ session: String, _ prompt: BridgeRequest.Prompt) async throws -> BridgeDelivery {
    if prompt.content == .text("wait") { _ = await delivered.next() }
    asked.withLock { $0.append("prompt \(prompt.delivery)") }
    return delivery.withLock { $0 }
  }

  func abort(_ session: String) async throws { asked.withLock { $0.append("abort") } }
  func shutDown(_ session: String) async throws { asked.withLock { $0.append("shutdown") } }
}

/// An agent that writes what the test says, and its bridge.
final class BridgeStage: Sendable {
  let folder: BridgeFolder
  /// The folder of the session's bridge.
  let bridges: String
  let host = RecordingHost()
  let server: BridgeServer
  let agent: PiConnection
  let log = Mailbox<String>()
  private let scratch: TemporaryFolder
  private let work: Task<Void, Never>
  private let reading: Task<Void, Never>
  private let feed: EventPipe

  /// - Parameter own: a folder of the session's own, in the scratch folder.
  init(
    _ change: (inout BridgeLimits) -> Void = { _ in }, clock: any Clock<Duration> = ContinuousClock(),
    own: String? = nil, _ preferences: BridgePreferences? = nil
  ) throws {
    signal(SIGPIPE, SIG_IGN)
    scratch = try TemporaryFolder()
    folder = BridgeFolder(path: scratch.path + "/b")
    var limits = BridgeLimits()
    change(&limits)
    let timeSource = TimeSource(clock: clock)
    server = try BridgeServer(
      folder: folder, limits: limits, heartbeat: .seconds(15), hostName: "here", timeSource: timeSource,
      logger: .lines { [log] in log.post($0) })
    server.serve(host)
    let pipe = scratch.path + "/events"
    #expect(mkfifo(pipe, 0o600) == 0)
    agent = try PiConnection(
      .init(
        name: "pi", path: "/bin/sh", arguments: ["-c", "exec cat \(pipe)"], environment: ["PATH": "/usr/bin:/bin"]),
      guardian: nil, log: LogFile(path: scratch.path + "/log", limits: .init()), wantsToolImages: false, clock: clock,
      text: { _ in })
    feed = try EventPipe(pipe)
    work = Task { [server] in await server.run() }
    reading = Task { [agent] in while await agent.incoming.next() != nil {} }
    var preferences = preferences
    if let own { preferences?.bridgeDir = "\(scratch.path)/\(own)" }
    bridges = preferences?.bridgeDir ?? folder.path
    server.began(agent, of: ObservedSession(id: "s1", name: "first", directory: "/work", bridge: preferences))
  }

  var socket: String { "\(bridges)/pi-\(agent.process.pid).sock" }

  /// The agent writes these lines.
  func write(_ lines: String...) throws { for line in lines { try feed.write(line + "\n") } }

  /// The agent writes so many updates and a `turn_start`. On a thread of its own: the pipe takes them only while others read.
  func burst(_ count: Int) async throws {
    let update =
      #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":""#
      + String(repeating: "x", count: 200) + "\"}}\n"
    let text = String(repeating: update, count: count) + #"{"type":"turn_start"}"# + "\n"
    let feed = feed
    let result: Result<Void, any Error> = await withCheckedContinuation { done in
      LoopThread.start(name: "burst") { done.resume(returning: Result { try feed.write(text) }) }
    }
    try result.get()
  }

  func client(reads: Bool = true) async throws -> TestClient {
    let client = try TestClient(socket, reads: reads)
    if reads { #expect(await client.next()?["type"]?.stringValue == "bridge_hello") }
    return client
  }

  func close() async {
    feed.finish()
    await agent.stop()
    server.ended(agent)
    await server.stop(reason: "the test ends")
    work.cancel()
    await work.value
    await reading.value
  }
}

/// Writes into a pipe with a name, which an agent reads.
private final class EventPipe: Sendable {
  private let state: Locked<Int32>

  init(_ path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError("open", path: path) }
    state = Locked(descriptor)
  }

  deinit { finish() }

  /// The reader reads end of file.
  func finish() {
    state.withLock { descriptor in
      if descriptor >= 0 { _ = close(descriptor) }
      descriptor = -1
    }
  }

  func write(_ text: String) throws {
    let descriptor = state.withLock { $0 }
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { throw SystemError("write") }
      bytes = bytes.dropFirst(count)
    }
  }
}
