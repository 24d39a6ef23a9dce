internal import Conversations
internal import RelayConcurrency
internal import RelayModel

/// Hands what conversations are showing to the next program of this process.
struct RoutingSnapshots: Sendable {
  let gate: InboundGate
  let directory: ConversationDirectory
  let subscriptions: SessionSubscriptions
  let questions: QuestionRegistry
  let recovery: RecoveryCoordinator
  let programs: ProgramGate

  /// Says nothing more until `resume`.
  ///
  /// - Returns: the work under way, when nothing is being handled at this moment; otherwise `nil`, and the obstacle.
  func takeSnapshot() async -> (Router.Snapshot?, obstacle: String?) {
    if gate.isStoring { return (nil, "a message is being stored") }
    guard programs.close() else { return (nil, "the request of a program") }
    var conversations: [ConversationSnapshot] = []
    for (key, context) in directory.all {
      guard context.inbox.isAwaited,
        let one = await context.output.takeSnapshot(
          context.conversation, session: subscriptions.session(of: key), view: subscriptions.view(of: key))
      else { return (nil, "conversation \(key)") }
      conversations.append(one)
    }
    return (Router.Snapshot(conversations: conversations, dialogs: questions.all), nil)
  }

  func resume() async {
    programs.open()
    for context in directory.all.values { await context.output.resume() }
  }

  func adopt(_ snapshot: Router.Snapshot, running: Set<MessageKey>) async throws {
    let shown = snapshot.conversations.reduce(into: Set()) { $0.formUnion($1.keys) }
    try await recovery.read(exceptOf: shown, running)
    for record in snapshot.dialogs { questions.adopt(record) }
    for one in snapshot.conversations {
      let context = directory.context(
        one.key, one.conversation, capabilities: one.capabilities, settings: one.settings)
      await context.output.adopt(one)
      if let session = one.session { subscriptions.adopt(session, one.key, one.view ?? .init()) }
    }
  }
}
