internal import AgentSessions
internal import FoundationEssentials
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayTransport
internal import RelayWire

// Sessions with a folder of their own, and threads for them.
extension Router {
  /// Why a session cannot be begun like this; nil when it can. The folder is then named as it really is: a link may lead
  /// elsewhere tomorrow.
  func problem(with wish: inout NewSession, _ link: PluginLink) async -> String? {
    guard let folder = wish.folder else { return nil }
    let shown = SafeText.line(folder, limit: 200)
    // A terminal's user may go anywhere; from chat only where relay.yaml says, and elsewhere nothing is told.
    if !link.isLocal {
      wish.folder = await host.workplace(folder)
      if wish.folder != nil { return nil }
      return "\(shown) is not among the folders in which sessions may be begun from here: sessions.roots in relay.yaml "
        + "lists them."
    }
    var isFolder = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder else {
      return "\(shown) is not a folder on this machine."
    }
    return nil
  }

  @Sendable static func spawn(_ router: Router, _ call: CommandCall) async -> String? {
    var wish = NewSession(call.arguments)
    let place = call.message.conversation
    guard call.link.capabilities.threads == true, place.kind != .dm else {
      return "A thread can be opened only in a channel; here /new begins a session."
    }
    if let problem = await router.problem(with: &wish, call.link) { return problem }
    let title = wish.name ?? wish.folder?.split(separator: "/").last.map(String.init) ?? "session"
    let thread: Conversation
    do {
      // In a thread, beside it.
      let request = ThreadCreate(
        key: UUID().uuidString, conversation: place.parent ?? place.id,
        title: router.redaction.line(title, limit: 90))
      thread = try await call.link.request(request).conversation
    } catch {
      return "❌ The thread could not be opened: \(error)"
    }
    await router.begin(wish, title: title, in: thread, call)
    return "Opened \(thread.title.map { SafeText.line($0) } ?? title)."
  }

  private func begin(_ wish: NewSession, title: String, in thread: Conversation, _ call: CommandCall) async {
    let key = key(call.link, thread)
    let place = place(key, thread, call.link)
    let session = await makeSession(key, call.link, name: title, directory: wish.folder, model: wish.model)
    await bind(key, to: session)
    let machine = machine.name ?? ProcessInfo.processInfo.hostName
    await say("Session \(await session.name) in \(session.directory) on \(machine). Write here to talk to it.", to: key)
    guard let task = wish.task else { return }
    let message = MessageReceived(
      id: call.message.id + "#task", conversation: thread, sender: call.message.sender, text: task)
    do {
      let stored = StoredMessage(key: MessageKey(conversation: key, id: message.id), message: message)
      if try await store.accept(stored, state: nil) { place.inbox.post(.message(message, call.link)) }
    } catch {
      log("\(key): the first task of a session could not be stored: \(error)")
      await say("⚠️ Its task could not be stored; write it again.", to: key)
    }
  }

  /// The session that channels share, begun with the first message in one.
  func mainSession(_ key: ConversationKey, _ link: PluginLink) async -> Session {
    if let making = makingMain { return await making.value }
    let making = Task { await findMainSession(key, link) }
    makingMain = making
    defer { makingMain = nil }
    return await making.value
  }

  private func findMainSession(_ key: ConversationKey, _ link: PluginLink) async -> Session {
    if let session = await boundSession(Self.main) { return session }
    let session = await makeSession(key, link, name: machine.name ?? "main", directory: nil, model: nil)
    await bind(Self.main, to: session)
    return session
  }

  /// What the main session is bound to: no messenger's instance has such a name.
  static let main = ConversationKey(instance: "main", conversation: "main")

  // MARK: - Threads come and go

  /// A thread that was put away lets its session sleep; with one that is deleted its session ends.
  func closed(_ closing: ConversationClosed, _ link: PluginLink) async throws {
    let key = key(link, closing.conversation)
    guard let session = await boundSession(key) else { return }
    let isShared = try await store.conversations(of: session.id).contains { $0 != key }
    guard closing.deleted == true else {
      // One that works goes on to its end, and sleeps when it has been idle for long.
      if !isShared { taskScope.add { _ = await session.makeRoom() } }
      return
    }
    await unbind(key)
    guard !isShared, closing.conversation.kind == .thread else { return }
    log("\(key): its thread was deleted, and so the session \(await session.name) is closed")
    taskScope.add { [host] in await host.close(session) }
  }
}
