import CLinux
import FoundationEssentials
import Glibc
internal import RelayConcurrency
package import RelayJSON
internal import RelayTransport
package import RelayWire

/// A messenger whose platform is the test: it sees the messages of the relay and sends those of people. A real process
/// (`splice`) stands between it and the daemon.
package actor FakeMessenger {
  /// A message as people see it on the platform.
  package struct Shown: Sendable, Equatable {
    package var id: String
    package var conversation: String
    package var text: String
    package var role: MessageRole?
    package var buttons: [[Button]]?
    package var isGrowing: Bool
    /// Texts it has had, the present one last.
    package var history: [String]
    package var key: String
  }

  package let name: String
  private let listener: Int32
  private let token = Locked<EventLoop.Token?>(nil)
  private let capabilities: Capabilities
  private var peer: JSONRPCConnection?
  private var lives: [Task<Void, Never>] = []
  private(set) package var generation = 0
  private(set) package var messages: [Shown] = []
  /// The platform's message for each key.
  private var receipts: [String: String] = [:]
  /// Messages that ask something.
  private(set) package var questions: [Shown] = []
  private(set) package var outcomes: [String: MessageSettled.Outcome] = [:]
  /// Each report of an end, by message.
  private(set) package var told: [String: [MessageSettled.Outcome]] = [:]
  private(set) package var typing: [Bool] = []
  /// Activities that the bot has shown, first to last; nil: none.
  private(set) package var presences: [String?] = []
  private(set) package var lastInitialize: InitializeRequest?
  private var watchers: [Int: @Sendable (isolated FakeMessenger) -> Bool] = [:]
  private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  private var nextWatcher = 0
  private var nextID = 0
  /// Failures to answer with, by method, first to last.
  private var failures: [String: [WireError]] = [:]
  /// Failures to answer with after something was carried out all the same.
  private var lateFailures: [String: [WireError]] = [:]
  /// The result that is answered in place of the receipt, by method.
  private var oddReceipts: [String: JSONValue] = [:]
  /// Sends that are carried out but never answered.
  private var swallowsAnswers = 0
  /// Messages that a person has removed.
  private var removed: Set<String> = []
  /// Failures to answer with where a message is changed for the last time.
  private var lastEditRefusals: [WireError] = []
  private(set) package var threadTitles: [String] = []
  private var swallowed: [IncomingRequest] = []

  /// Puts the messenger's executable into `plugins` and listens for its processes.
  package init(
    name: String, in plugins: String, scratch: String, executable: String = Built.executable("splice"),
    capabilities: Capabilities
  ) throws {
    // Its pipe ends whenever a test kills the process at the other end.
    signal(SIGPIPE, SIG_IGN)
    self.name = name
    self.capabilities = capabilities
    let socket = "\(scratch)/\(name).sock"
    listener = relay_listen_unix(socket)
    guard listener >= 0 else { throw SystemError("listen", code: -listener) }
    try Data(socket.utf8).write(to: URL(filePath: "\(plugins)/\(name).socket"))
    try Self.install(executable, as: "\(plugins)/\(name)")
  }

  /// Copies an executable under another name, in place at once.
  package static func install(_ source: String, as target: String) throws {
    let part = target + ".part"
    try? FileManager.default.removeItem(atPath: part)
    try FileManager.default.copyItem(atPath: source, toPath: part)
    chmod(part, 0o755)
    guard rename(part, target) == 0 else { throw SystemError("rename") }
  }

  package static var usual: Capabilities {
    var capabilities = Capabilities.messenger(maximumTextLength: 2_000, dialect: "discord", edit: true)
    capabilities.typing = true
    capabilities.outcomes = true
    capabilities.minimumEditInterval = 10
    capabilities.idempotencyKey = true
    return capabilities
  }

  /// The usual messenger, whose questions have buttons.
  package static var withButtons: Capabilities {
    var capabilities = usual
    capabilities.buttons = ButtonLimits(rows: 5, perRow: 5, labelLength: 80, idLength: 100)
    return capabilities
  }

  package func listen() throws {
    let watched = try EventLoop.shared.watch(listener, .read) { [weak self, listener] _ in
      while true {
        let connection = relay_accept(listener)
        guard connection >= 0 else { return }
        Task { [weak self] in await self?.take(connection) }
      }
    }
    token.withLock { $0 = watched }
  }

  package func close() {
    if let token = token.withLock({ $0 }) { EventLoop.shared.close(token, listener) }
    peer?.close()
    for life in lives { life.cancel() }
  }

  private func take(_ connection: Int32) {
    let writer = fcntl(connection, F_DUPFD_CLOEXEC, 3)
    let peer = JSONRPCConnection(input: connection, output: writer)
    do { try peer.start() } catch { return }
    lives.append(Task { for await request in peer.requests { handle(request, peer) } })
  }

  private func handle(_ request: IncomingRequest, _ from: JSONRPCConnection) {
    do {
      try answer(request, from)
    } catch {
      request.fail(error)
    }
    notify()
  }

  private func answer(_ request: IncomingRequest, _ from: JSONRPCConnection) throws(WireError) {
    if var list = failures[request.method], !list.isEmpty {
      let failure = list.removeFirst()
      failures[request.method] = list
      throw failure
    }
    switch request.method {
    case InitializeRequest.method:
      lastInitialize = try request.params(InitializeRequest.self)
      request.reply(
        InitializeReply(
          protocolVersion: 1, name: name, version: "1", kinds: [.messenger], capabilities: capabilities))
      peer = from
      generation += 1
    case Ping.method, Shutdown.method, CommandsChanged.method: request.reply(Empty())
    case MessageSend.method:
      let send = try request.params(MessageSend.self)
      if let known = known(send.key) { return request.reply(Receipt(message: known)) }
      let id = add(send.conversation, send.text, send.role, send.buttons, send.streaming ?? false, send.key)
      if var list = lateFailures[request.method], !list.isEmpty {
        let failure = list.removeFirst()
        lateFailures[request.method] = list
        throw failure
      }
      if swallowsAnswers > 0 {
        swallowsAnswers -= 1
        // Kept, since a request that is let go answers by itself.
        swallowed.append(request)
      } else {
        acknowledge(request, id)
      }
    case DialogShow.method:
      let show = try request.params(DialogShow.self)
      if let known = known(show.key) { return request.reply(Receipt(message: known)) }
      let id = add(show.conversation, show.text, .dialog, show.buttons, false, show.key)
      request.reply(Receipt(message: id))
    case MessageEdit.method:
      let edit = try request.params(MessageEdit.self)
      if edit.streaming != true, !lastEditRefusals.isEmpty {
        let refusal = lastEditRefusals.removeFirst()
        if case .notFound? = DeliveryFailure(refusal) { removeMessages { $0.id == edit.message } }
        throw refusal
      }
      guard !removed.contains(edit.message) else { throw DeliveryFailure.notFound("it is gone").wireError }
      change(edit.message, edit.text, edit.streaming ?? false)
      acknowledge(request, edit.message)
    case DialogClose.method:
      let close = try request.params(DialogClose.self)
      change(close.message, close.text, false)
      removeButtons(of: close.message)
      request.reply(Empty())
    case FileSend.method:
      let file = try request.params(FileSend.self)
      if let known = known(file.key) { return request.reply(Receipt(message: known)) }
      guard let size = FileManager.default.contents(atPath: file.path)?.count else {
        throw WireError(.invalidParams, "there is no file \(file.path)")
      }
      let id = add(
        file.conversation, "\(file.caption ?? "")[\(file.name), \(size) bytes]", nil, nil, false, file.key)
      request.reply(Receipt(message: id))
    case MessageLookup.method where capabilities.lookup == true:
      let lookup = try request.params(MessageLookup.self)
      request.reply(MessageLookup.Reply(message: receipts[lookup.key]))
    case MessageDelete.method:
      let deletion = try request.params(MessageDelete.self)
      messages.removeAll { $0.id == deletion.message }
      request.reply(Empty())
    case MessageSettled.method:
      let settled = try request.params(MessageSettled.self)
      outcomes[settled.message] = settled.outcome
      told[settled.message, default: []].append(settled.outcome)
      request.reply(Empty())
    case ConversationOpen.method where capabilities.directMessages == true:
      let open = try request.params(ConversationOpen.self)
      request.reply(ConversationOpen.Reply(conversation: Conversation(id: "dm-\(open.user)")))
    case ThreadCreate.method where capabilities.threads == true:
      let create = try request.params(ThreadCreate.self)
      threadTitles.append(create.title)
      request.reply(
        ThreadCreate.Reply(
          conversation: Conversation(id: "thread-\(create.key)", kind: .thread, parent: create.conversation)))
    case TypingSet.method:
      typing.append(try request.params(TypingSet.self).active)
      request.reply(Empty())
    case PresenceSet.method where capabilities.presence == true:
      presences.append(try request.params(PresenceSet.self).text)
      request.reply(Empty())
    default: throw WireError(.methodNotFound, "there is no method \(request.method)")
    }
  }

  private func acknowledge(_ request: IncomingRequest, _ message: String) {
    if let odd = oddReceipts[request.method] { request.reply(odd) } else { request.reply(Receipt(message: message)) }
  }

  private func add(
    _ conversation: String, _ text: String, _ role: MessageRole?, _ buttons: [[Button]]?, _ grows: Bool, _ key: String
  ) -> String {
    nextID += 1
    let id = "m\(nextID)"
    let message = Shown(
      id: id, conversation: conversation, text: text, role: role, buttons: buttons, isGrowing: grows, history: [text],
      key: key)
    messages.append(message)
    receipts[key] = id
    if role == .dialog { questions.append(message) }
    return id
  }

  /// The message that this platform made for a key before, where the platform tells.
  private func known(_ key: String) -> String? {
    capabilities.idempotencyKey == true ? receipts[key] : nil
  }

  private func removeButtons(of id: String) {
    if let index = messages.firstIndex(where: { $0.id == id }) { messages[index].buttons = nil }
  }

  private func change(_ id: String, _ text: String, _ grows: Bool) {
    questions.removeAll { $0.id == id }
    // Most are among the last.
    guard let index = messages.lastIndex(where: { $0.id == id }) else { return }
    messages[index].text = text
    messages[index].isGrowing = grows
    messages[index].history.append(text)
  }

  package func fail(_ method: String, with errors: [WireError]) { failures[method] = errors }

  /// Carries these out and answers with failures all the same.
  package func failLate(_ method: String, with errors: [WireError]) { lateFailures[method] = errors }

  /// Carries these out and answers with this.
  package func answer(_ method: String, with receipt: JSONValue) { oddReceipts[method] = receipt }

  /// Shows a message of an earlier daemon's.
  package func show(_ text: String, under key: String, in conversation: String = "c1") {
    _ = add(conversation, text, .answer, nil, true, key)
  }

  package func refuseLastEdits(with errors: [WireError]) { lastEditRefusals = errors }

  /// Removes what is shown, as a person may on the platform.
  package func removeMessages(where isRemoved: (Shown) -> Bool) {
    removed.formUnion(messages.filter(isRemoved).map(\.id))
    messages.removeAll(where: isRemoved)
  }

  /// Messages that were reported to have ended in different ways.
  package var contradictions: [String] {
    told.filter { Set($1).count > 1 }.map { "\($0) was told as \($1)" }.sorted()
  }

  package var swallowedCount: Int { swallowed.count }

  package func swallowAnswers(_ count: Int) { swallowsAnswers = count }

  // MARK: - Waiting

  private func notify() {
    for (number, condition) in watchers where condition(self) {
      watchers[number] = nil
      waiting.removeValue(forKey: number)?.resume()
    }
  }

  /// Waits until something holds; checked whenever anything happens.
  package func wait(until condition: @escaping @Sendable (isolated FakeMessenger) -> Bool) async {
    if condition(self) { return }
    nextWatcher += 1
    let number = nextWatcher
    watchers[number] = condition
    // The test's time limit has cancelled the wait: the test continues and fails.
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if Task.isCancelled { continuation.resume() } else { waiting[number] = continuation }
      }
    } onCancel: {
      Task { await self.giveUp(number) }
    }
  }

  private func giveUp(_ number: Int) {
    watchers[number] = nil
    waiting.removeValue(forKey: number)?.resume()
  }

  package func waitForText(_ text: String, in conversation: String = "c1") async {
    await wait { messenger in
      messenger.messages.contains { $0.conversation == conversation && $0.text.contains(text) }
    }
  }

  package func waitForOutcome(of message: String) async -> MessageSettled.Outcome? {
    await wait { $0.outcomes[message] != nil }
    return outcomes[message]
  }

  // MARK: - What people do

  /// Says something, again until the relay has stored it.
  @discardableResult
  package func say(
    _ text: String, id: String, in conversation: String = "c1", from sender: String = "u1",
    kind: Conversation.Kind = .dm, attachments: [Attachment]? = nil, forwarded: Bool? = nil
  ) async throws -> MessageReceived.Reply {
    let message = MessageReceived(
      id: id, conversation: Conversation(id: conversation, kind: kind), sender: Sender(id: sender, name: "Ann"),
      text: text, attachments: attachments, forwarded: forwarded)
    return try await request(message)
  }

  package func press(_ button: String, id: String, in conversation: String = "c1", from sender: String = "u1")
    async throws
  {
    _ = try await request(
      ActionInvoked(
        id: id, conversation: Conversation(id: conversation), sender: Sender(id: sender, name: "Ann"), action: button))
  }

  package func request<Request: WireRequest>(_ request: Request) async throws -> Request.Reply {
    while true {
      try Task.checkCancellation()
      let generation = generation
      await wait { $0.peer != nil }
      guard let peer else { continue }
      do {
        return try await peer.request(request, within: .seconds(30))
      } catch .closed {
        // This process has ended: the next one sends unacknowledged messages again.
        if self.generation == generation { self.peer = nil }
      } catch .notSent {
        if self.generation == generation { self.peer = nil }
      } catch {
        throw error
      }
    }
  }

  /// The texts that a conversation shows, growing messages included.
  package func texts(in conversation: String = "c1", role: MessageRole? = nil) -> [String] {
    messages.filter { $0.conversation == conversation && (role == nil || $0.role == role) }.map(\.text)
  }
}
