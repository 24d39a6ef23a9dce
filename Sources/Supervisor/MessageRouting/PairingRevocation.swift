internal import AgentSessions
internal import ConversationSessions
internal import Logging
internal import MessageDelivery
internal import Pairings
internal import RelayLogging
package import RelayModel
internal import RelayText
internal import RelayWire
internal import SessionCatalog

/// Ends what `PairingDesk` has given: pairings and trust.
package struct PairingRevocation: Sendable {
  let people: PairedPeople
  let sessions: SessionRegistry
  let bindings: SessionBindings
  let directory: ConversationDirectory
  let logger: Logger

  /// Sets the receiver of the sessions whose pairings have changed.
  package func whenChanged(_ told: @escaping @Sendable (Set<String>) -> Void) { people.whenChanged(told) }

  /// The person ends the pairing of a conversation with a session, and is told.
  ///
  /// - Returns: false where there is none.
  func leave(_ session: String, in key: ConversationKey, asked message: MessageReceived) async -> Bool {
    let isNative = MessageOrigin(id: message.id).isInteraction
    let ended = await revoke(answering: isNative ? message : nil) { $0.conversation == key && $0.session == session }
    return ended?.isEmpty != true
  }

  /// Revokes pairings, at once: what waits of these conversations in the sessions is dropped, and their questions are withdrawn.
  ///
  /// - Returns: those that were revoked; `nil` where that could not be stored, and they count again after a restart.
  package func revoke(where isMeant: (Pairing) -> Bool) async -> [Pairing]? {
    await revoke(answering: nil, where: isMeant)
  }

  private func revoke(answering command: MessageReceived?, where isMeant: (Pairing) -> Bool) async -> [Pairing]? {
    let ended = people.active.filter(isMeant)
    guard !ended.isEmpty else { return [] }
    var isStored = true
    do {
      try await people.end(ended, as: .revoked)
    } catch {
      isStored = false
      logger.error("the end of a pairing could not be stored: \(error)")
    }
    for pairing in ended {
      let key = pairing.conversation
      logger.with(key).notice("the pairing of \(pairing.name) (id \(TextSanitizer.line(pairing.person))) was revoked")
      let rights = bindings.rights(of: key)
      let name: String?
      if let id = pairing.session {
        let session = await sessions.session(id)
        name = await session?.name
        // A person whom the configuration admits keeps the right to the session, and leaves it.
        await bindings.unbind(key, from: id)
        _ = await session?.drop { $0 == key }
      } else {
        name = nil
        await leaveForbidden(key, rights)
      }
      let text = name.map { "You are no longer paired with the session \($0)." } ?? "You are no longer admitted here."
      await directory.tell(text, in: key, answering: command)
    }
    return isStored ? ended : nil
  }

  /// Takes the conversation away from a session that it may not address any more.
  private func leaveForbidden(_ key: ConversationKey, _ rights: ConversationRights) async {
    guard rights != .configured, let id = await bindings.id(of: key) else { return }
    if let listing = await sessions.listing(id), AddressableSessions.permits(listing, to: key, with: rights) { return }
    await bindings.unbind(key, from: id)
    _ = await sessions.session(id)?.drop { $0 == key }
  }

  /// - Parameter messenger: `KIND` or `KIND:INSTANCE`.
  /// - Returns: the obstacle, in words.
  package func untrust(_ person: String, on messenger: String) async -> String? {
    let known = people.trusted.filter { $0.person == person && MessengerName(messenger).names($0.instance) }
    guard !known.isEmpty else {
      return "\(TextSanitizer.line(person)) is not trusted on \(TextSanitizer.line(messenger))"
    }
    do {
      for one in known { _ = try await people.untrust(person, of: one.instance) }
      logger.notice("\(TextSanitizer.line(person)) is no longer trusted on \(TextSanitizer.line(messenger))")
      return nil
    } catch {
      return "it could not be stored: \(error)"
    }
  }
}

extension ConversationDirectory {
  /// Says something in a conversation that may not be admitted any more.
  ///
  /// - Parameter command: the command of the messenger's own that this answers.
  func tell(_ text: String, in key: ConversationKey, answering command: MessageReceived?) async {
    let delivery = deliveryOfRefusals(to: key)
    _ = await delivery.send(delivery.compose(text, role: .notice, replyTo: command?.id))
    if let command {
      await delivery.tell(MessageEnd(received: MessageKey(conversation: key, id: command.id), .handled))
    }
  }
}
