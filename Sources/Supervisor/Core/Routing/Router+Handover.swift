internal import Conversations
internal import RelayConcurrency
package import RelayModel
internal import RelayStore
internal import RelayWire

extension Router {
  package struct Handover: Codable, Sendable {
    var conversations: [ConversationHandover]
    var dialogs: [DialogRecord]
  }

  /// Says nothing more until `resume`.
  ///
  /// - Returns: what is under way, when nothing is being handled at this moment; otherwise nil, and what is.
  func hold() async -> (handover: Handover?, busy: String?) {
    if accepting.withLock({ $0 > 0 }) { return (nil, "a message is being stored") }
    var conversations: [ConversationHandover] = []
    for (key, place) in places {
      guard place.inbox.isAwaited,
        let one = await place.output.hold(
          place.conversation, session: watchers.session(of: key), view: watchers.view(of: key))
      else { return (nil, "conversation \(key)") }
      conversations.append(one)
    }
    return (Handover(conversations: conversations, dialogs: dialogs.all), nil)
  }

  func resume() async { for place in places.values { await place.output.resume() } }

  /// Goes on with what the program before was showing. Messengers need not be connected yet.
  ///
  /// - Parameter running: messages that sessions go on with; before they do.
  package func adopt(_ handover: Handover, running: Set<MessageKey>) async throws {
    let shown = handover.conversations.reduce(into: Set()) { $0.formUnion($1.keys) }
    for instance in try await store.instances() {
      var left = try await left(instance)
      left.outbound.removeAll { shown.contains($0.record.key) }
      left.messages.removeAll { running.contains($0.stored.key) }
      leftBefore[instance] = left
    }
    for record in handover.dialogs { dialogs.adopt(record) }
    for one in handover.conversations {
      let place = place(
        one.key, one.conversation, capabilities: one.capabilities, settings: one.settings)
      await place.output.adopt(one)
      if let session = one.session { watchers.adopt(session, one.key, place.output, one.view ?? .init()) }
    }
  }
}
