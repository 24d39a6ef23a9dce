internal import ControlServer
import Glibc
import RelayConcurrency
internal import RelayHome
import RelayTransport
import RelayWire

/// A request of the daemon to show something.
protocol ChatScreen: Sendable {
  /// How it wants texts: see `Capabilities.dialect`.
  var dialect: String { get }
  func show(_ message: MessageSend, id: String) async
  func change(_ message: MessageEdit) async
  func remove(_ message: MessageDelete) async
  func settled(_ message: MessageSettled) async
  func typing(_ active: Bool) async
  /// The connection is gone or back.
  func connected(_ isConnected: Bool) async
  /// Another daemon runs now, which does not know the messages of the last one.
  func daemonReplaced() async
}

/// A terminal's attachment to the daemon as a messenger: kept up while the daemon comes and goes, with what was not
/// acknowledged said again.
package actor ChatConnection {
  private let environment: ChatEnvironment
  private let client: String
  private let screen: any ChatScreen
  private var peer: JSONRPCConnection?
  private var isAttached = false
  /// Why the daemon does not want us.
  private var refusal: WireError?
  private var waiting: [AsyncStream<Void>.Continuation] = []
  /// The process that was there last.
  private var daemon: Int32?
  private var nextMessage = 0
  private var nextShown = 0
  private var spool = ""
  private let user: String

  static let conversation = "terminal"

  /// A name of this run's own: process numbers are used again.
  static func newClient(_ kind: String) -> String {
    "\(kind)-\(ending)"
  }

  /// Compares the name of an attached terminal with this process.
  package static func isOfThisProcess(_ instance: String) -> Bool { instance.hasSuffix("-\(ending)") }

  private static let ending = "\(getpid())-\(String(UInt32.random(in: 0...UInt32.max), radix: 36))"

  init(_ environment: ChatEnvironment, client: String, screen: any ChatScreen) {
    self.environment = environment
    self.client = client
    self.screen = screen
    user = environment.variables["USER"] ?? "you"
  }

  private var capabilities: Capabilities {
    var capabilities = Capabilities.messenger(
      maximumTextLength: 16_000, unit: .graphemes, dialect: screen.dialect, edit: true)
    capabilities.typing = true
    capabilities.outcomes = true
    capabilities.minimumEditInterval = 40
    return capabilities
  }

  // MARK: - The connection

  /// Stays attached until cancelled, or until the daemon is gone and `reconnects` is false.
  func run(reconnects: Bool) async {
    var backoff = ExponentialBackoff(from: .milliseconds(50), to: .seconds(2))
    while !Task.isCancelled {
      if let peer = environment.connect() {
        await serve(peer)
        if isAttached { backoff.reset() }
        peer.close()
        isAttached = false
        self.peer = nil
        // The person who leaves knows.
        guard !Task.isCancelled else { return }
        await screen.connected(false)
        if let refusal {
          StandardError.say("pi-relayd: \(refusal)")
          for waiter in waiting { waiter.finish() }
          return
        }
      }
      guard reconnects else { return }
      do { try await Task.sleep(for: backoff.next()) } catch { return }
    }
  }

  private func serve(_ peer: JSONRPCConnection) async {
    self.peer = peer
    do {
      let daemon = try await peer.request(ControlStatus(), within: .seconds(10)).pid
      if let before = self.daemon, before != daemon { await screen.daemonReplaced() }
      self.daemon = daemon
      _ = try await peer.request(ControlAttach(client: client), within: .seconds(10))
    } catch {
      // A refusal will be the same next time.
      if case .refused(let why) = error { refusal = why }
      return
    }
    for await request in peer.requests {
      do {
        try await handle(request, peer)
      } catch {
        request.fail(error)
      }
    }
  }

  private func handle(_ request: IncomingRequest, _ peer: JSONRPCConnection) async throws(WireError) {
    switch request.method {
    case InitializeRequest.method:
      spool = try request.params(InitializeRequest.self).spoolDir
      request.reply(
        InitializeReply(
          protocolVersion: 1, name: "terminal", version: Product.version, kinds: [.messenger],
          capabilities: capabilities))
      isAttached = true
      await screen.connected(true)
      for waiter in waiting { waiter.finish() }
      waiting = []
    case Ping.method, Shutdown.method: request.reply(Empty())
    case MessageSend.method:
      let message = try request.params(MessageSend.self)
      let id = newID()
      await screen.show(message, id: id)
      request.reply(Receipt(message: id))
    case MessageEdit.method:
      let edit = try request.params(MessageEdit.self)
      await screen.change(edit)
      request.reply(Receipt(message: edit.message))
    case MessageDelete.method:
      await screen.remove(try request.params(MessageDelete.self))
      request.reply(Empty())
    case TypingSet.method:
      await screen.typing(try request.params(TypingSet.self).active)
      request.reply(Empty())
    case MessageSettled.method:
      await screen.settled(try request.params(MessageSettled.self))
      request.reply(Empty())
    default: throw WireError(.methodNotFound, "the terminal does not do \(request.method)")
    }
  }

  private func newID() -> String {
    nextShown += 1
    return "shown-\(nextShown)"
  }

  // MARK: - What the person says

  /// Hands over a message; returns its id once the daemon has stored it, however long that takes.
  func say(_ text: String, attachments: [Attachment] = []) async throws -> String {
    nextMessage += 1
    let id = "\(client)-\(nextMessage)"
    let message = MessageReceived(
      id: id, conversation: Conversation(id: Self.conversation, directory: environment.directory),
      sender: Sender(id: user, name: user), text: text, attachments: attachments.isEmpty ? nil : attachments)
    while true {
      try await waitUntilAttached()
      do {
        guard let peer else { continue }
        _ = try await peer.request(message, within: .seconds(30))
        return id
      } catch {
        if case .refused(let refusal) = error, refusal.code != .busy { throw refusal }
        // Not acknowledged: said again, under the same id, to the daemon that is there then.
        try await Task.sleep(for: .milliseconds(100))
      }
    }
  }

  /// Where the daemon looks for files of this terminal.
  func spoolFolder() async -> String {
    try? await waitUntilAttached()
    return spool
  }

  private func waitUntilAttached() async throws {
    while !isAttached {
      try Task.checkCancellation()
      if let refusal { throw refusal }
      let (attachments, waiter) = AsyncStream<Void>.makeStream()
      waiting.append(waiter)
      for await _ in attachments {}
    }
  }

  func completions(_ text: String) async -> [String] {
    guard let peer, isAttached else { return [] }
    let ask = CommandComplete(
      conversation: Conversation(id: Self.conversation), sender: Sender(id: user, name: user), text: text)
    return (try? await peer.request(ask, within: .seconds(1)))?.completions ?? []
  }
}
