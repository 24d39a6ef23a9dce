package import ContentServices
package import Conversations
package import Logging
package import MessageDelivery
package import PluginRuntime
package import RelayConcurrency
package import RelayConfig
package import RelayModel
package import RelayStore
package import RelayText
internal import RelayTransport
package import RelayWire

/// A conversation: its queue of arrivals and its output.
package struct ConversationContext: Sendable {
  package let inbox: Mailbox<Arrival>
  package let output: ConversationOutput
  let holder: ConnectionSlot
  /// Closed when the output has ended.
  let outputEnded: Mailbox<Void>
  package var conversation: Conversation
}

/// Something that arrived in a conversation and waits for its turn.
package enum Arrival: Sendable {
  case message(MessageReceived, PluginConnection)
  case action(ActionInvoked, PluginConnection)
  /// The assistant's periodic check has found something for its owner.
  case finding(MessageReceived, PluginConnection)
  /// With the message as it waits now, where it does.
  case edit(MessageEdited, MessageReceived?)
  case deletion(MessageDeleted)
  /// A message of an earlier daemon.
  case recovered(UnfinishedMessage, PluginConnection)
}

/// The conversations of this daemon and the connections of their messengers. A conversation of an earlier daemon is
/// only its description until something concerns it; then it gets its queue and its output.
package final class ConversationDirectory: Sendable {
  /// The parts from which the output of a conversation is made.
  private struct OutputDependencies: Sendable {
    let store: SQLiteStore
    let services: Services
    let timeSource: TimeSource
    let deliveries: Config.DeliverySettings
    let redaction: Redactor
    let checkpoints: StreamCheckpoints
    let logger: Logger
  }

  /// A conversation of an earlier daemon that nothing has concerned yet.
  private struct QuietConversation {
    let conversation: Conversation
    /// The connection that its messenger had when it was found: there may be none when something concerns it.
    let link: PluginConnection
  }

  private struct State {
    var contexts: [ConversationKey: ConversationContext] = [:]
    var quiet: [ConversationKey: QuietConversation] = [:]
    var holders: [String: ConnectionSlot] = [:]
    var process: (@Sendable (Arrival, ConversationKey) async -> Void)?
  }

  package let taskScope: TaskScope
  private let output: OutputDependencies
  private let mayReceive: @Sendable (ConversationKey, PluginConnection) -> Bool
  private let state = Locked(State())

  /// - Parameter mayReceive: false where a conversation is to be shown nothing any more.
  package init(
    store: SQLiteStore, services: Services, timeSource: TimeSource, deliveries: Config.DeliverySettings,
    redaction: Redactor, checkpoints: StreamCheckpoints, taskScope: TaskScope, logger: Logger,
    mayReceive: @escaping @Sendable (ConversationKey, PluginConnection) -> Bool = { _, _ in true }
  ) {
    output = OutputDependencies(
      store: store, services: services, timeSource: timeSource, deliveries: deliveries, redaction: redaction,
      checkpoints: checkpoints, logger: logger)
    self.taskScope = taskScope
    self.mayReceive = mayReceive
  }

  /// Sets the receiver of arrivals; called once, before anything arrives.
  package func onArrival(_ process: @escaping @Sendable (Arrival, ConversationKey) async -> Void) {
    state.withLock { $0.process = process }
  }

  /// Releases the receiver of arrivals, which holds this directory itself.
  package func stop() { state.withLock { $0.process = nil } }

  // MARK: - Connections

  func holder(_ instance: String) -> ConnectionSlot { state.withLock { Self.holder(instance, &$0) } }

  private static func holder(_ instance: String, _ state: inout State) -> ConnectionSlot {
    if let holder = state.holders[instance] { return holder }
    let holder = ConnectionSlot()
    state.holders[instance] = holder
    return holder
  }

  /// An instance is connected. In one step with the look for its holder: `remove` may be about to close it.
  package func connected(_ link: PluginConnection) { state.withLock { Self.holder(link.name, &$0).set(link) } }

  /// The connection of an instance; `nil` while it is away.
  package func link(_ instance: String) -> PluginConnection? { state.withLock { $0.holders[instance] }?.current }

  /// The connected messengers.
  package var links: [PluginConnection] { state.withLock { Array($0.holders.values) }.compactMap(\.current) }

  /// An instance is away.
  package func disconnected(_ link: PluginConnection) { state.withLock { $0.holders[link.name] }?.clear(link) }

  /// Closes the conversations of an instance that will not be back.
  ///
  /// - Returns: `nil` where it is connected again, and nothing was closed.
  package func remove(instance: String) -> [ConversationKey]? {
    let removed = state.withLock {
      state -> (ConnectionSlot?, [ConversationKey: ConversationContext], [ConversationKey])? in
      guard state.holders[instance]?.current == nil else { return nil }
      let contexts = state.contexts.filter { $0.key.instance == instance }
      for key in contexts.keys { state.contexts[key] = nil }
      let quiet = state.quiet.keys.filter { $0.instance == instance }
      for key in quiet { state.quiet[key] = nil }
      return (state.holders.removeValue(forKey: instance), contexts, quiet)
    }
    guard let (holder, contexts, quiet) = removed else { return nil }
    holder?.close()
    for context in contexts.values {
      context.inbox.close()
      context.output.close()
    }
    return contexts.keys + quiet
  }

  // MARK: - Conversations

  package subscript(_ key: ConversationKey) -> ConversationContext? { state.withLock { $0.contexts[key] } }

  package var all: [ConversationKey: ConversationContext] { state.withLock { $0.contexts } }

  /// The conversation as its messenger last described it.
  package func conversation(_ key: ConversationKey) -> Conversation? {
    state.withLock { $0.contexts[key]?.conversation ?? $0.quiet[key]?.conversation }
  }

  /// Knows a conversation from now on of which there is nothing to do yet.
  package func remember(_ key: ConversationKey, _ conversation: Conversation, _ link: PluginConnection) {
    state.withLock { state in
      if state.contexts[key] == nil {
        state.quiet[key] = QuietConversation(conversation: conversation, link: link)
      } else {
        state.contexts[key]?.conversation = conversation
      }
    }
  }

  /// The output of a conversation that is known.
  private func output(_ key: ConversationKey) -> ConversationOutput? {
    let found = state.withLock { state -> (context: ConversationContext, isNew: Bool)? in
      if let known = state.contexts[key] { return (known, false) }
      guard let quiet = state.quiet[key], let holder = state.holders[key.instance] else { return nil }
      let settings = ConversationOutput.Settings(quiet.link.messenger, quiet.conversation)
      return (add(key, quiet.conversation, holder, quiet.link.capabilities, settings, to: &state), true)
    }
    guard let (context, isNew) = found else { return nil }
    if isNew { run(context, key) }
    return context.output
  }

  /// How a conversation is configured.
  func settings(_ key: ConversationKey, _ link: PluginConnection) -> Config.ConversationSettings {
    link.settings(of: conversation(key) ?? Conversation(id: key.conversation))
  }

  @discardableResult
  package func context(
    _ key: ConversationKey, _ conversation: Conversation, _ link: PluginConnection
  ) -> ConversationContext {
    context(
      key, conversation, capabilities: link.capabilities,
      settings: ConversationOutput.Settings(link.messenger, conversation))
  }

  package func context(
    _ key: ConversationKey, _ conversation: Conversation, capabilities: Capabilities,
    settings: ConversationOutput.Settings
  ) -> ConversationContext {
    let (context, isNew) = state.withLock { state in
      if let known = state.contexts[key] {
        state.contexts[key]?.conversation = conversation
        return (known, false)
      }
      let holder = Self.holder(key.instance, &state)
      return (add(key, conversation, holder, capabilities, settings, to: &state), true)
    }
    if isNew { run(context, key) }
    return context
  }

  private func add(
    _ key: ConversationKey, _ conversation: Conversation, _ holder: ConnectionSlot, _ capabilities: Capabilities,
    _ settings: ConversationOutput.Settings, to state: inout State
  ) -> ConversationContext {
    let context = ConversationContext(
      inbox: Mailbox(), output: makeOutput(key, conversation, holder, capabilities, settings), holder: holder,
      outputEnded: Mailbox(), conversation: conversation)
    state.contexts[key] = context
    state.quiet[key] = nil
    return context
  }

  package func delivery(to key: ConversationKey) -> MessageSender { delivery(to: key, holder(key.instance)) }

  /// For answers to people who may be shown nothing else: that they are refused, or what became of a pairing.
  package func deliveryOfRefusals(to key: ConversationKey) -> MessageSender {
    delivery(to: key, holder(key.instance)) { _, _ in true }
  }

  private func delivery(
    to key: ConversationKey, _ holder: ConnectionSlot,
    mayReceive: (@Sendable (ConversationKey, PluginConnection) -> Bool)? = nil
  ) -> MessageSender {
    MessageSender(
      conversation: key, holder: holder, store: output.store, timeSource: output.timeSource,
      settings: output.deliveries, logger: output.logger, mayReceive: mayReceive ?? self.mayReceive)
  }

  private func makeOutput(
    _ key: ConversationKey, _ conversation: Conversation, _ holder: ConnectionSlot, _ capabilities: Capabilities,
    _ settings: ConversationOutput.Settings
  ) -> ConversationOutput {
    ConversationOutput(
      conversation: conversation, delivery: delivery(to: key, holder), capabilities: capabilities, settings: settings,
      services: output.services, redaction: output.redaction, checkpoints: output.checkpoints, taskScope: taskScope)
  }

  private func run(_ context: ConversationContext, _ key: ConversationKey) {
    taskScope.add(on: EventLoop.shared) {
      await context.output.run()
      context.outputEnded.close()
    }
    // On the event loop, as all that a message goes through: no other thread is woken on its way to the agent.
    taskScope.add(on: EventLoop.shared) { [self] in
      while let arrival = await context.inbox.next() {
        guard let process = state.withLock({ $0.process }) else { return }
        await process(arrival, key)
      }
    }
  }

  // MARK: - Output

  package func post(_ item: OutputEvent, to key: ConversationKey) { output(key)?.post(item) }

  /// - Parameter message: the message that this answers without ending it.
  package func say(_ text: String, to key: ConversationKey, about message: MessageKey? = nil) {
    post(
      .say(text, .notice, buttons: nil, replyTo: message.flatMap { $0.origin.isInteraction ? $0.id : nil }), to: key)
  }

  /// Ends a message that no session has, with a text where there is something to say.
  ///
  /// - Parameter how: the event that ends it.
  package func endMessage(
    _ message: MessageKey, _ how: MessageLifecycle.ReceivedEnd = .handled, saying text: String? = nil,
    buttons: [[Button]]? = nil
  ) {
    let end = MessageEnd(received: message, how)
    post(text.map { .report($0, end, buttons: buttons) } ?? .end(end), to: message.conversation)
  }

  /// Ends all output, and waits until it has been sent, for as long as `limit`. A terminal that has left is not waited
  /// for: the next one has another name.
  ///
  /// - Returns: false where the time was too short.
  package func flush(within limit: Duration) async -> Bool {
    let contexts = all
    for context in contexts.values {
      context.inbox.close()
      context.output.close()
    }
    let awaited = contexts.filter { !$0.isLocalTerminal || $1.holder.current != nil }.values
    do {
      try await withDeadline(limit, clock: output.timeSource.clock) {
        for context in awaited { _ = await context.outputEnded.next() }
      }
      return true
    } catch {
      return false
    }
  }
}

extension PluginConnection {
  package func key(_ conversation: Conversation) -> ConversationKey {
    ConversationKey(instance: name, conversation: conversation.id)
  }

  /// How a conversation of this messenger is configured.
  package func settings(of conversation: Conversation) -> Config.ConversationSettings {
    messenger?.settings(of: conversation) ?? Config.ConversationSettings()
  }
}
