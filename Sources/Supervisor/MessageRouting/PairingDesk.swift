internal import AgentSessions
internal import ConversationSessions
internal import FoundationEssentials
internal import Logging
internal import MessageDelivery
internal import Pairings
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayLogging
package import RelayModel
internal import RelayText
package import RelayWire
internal import SessionCatalog

/// Admits people to private conversations by codes that a terminal of this machine shows, and ends what it has given. Nothing is
/// consumed and nobody is admitted before the session is known to be there and the person at the terminal has agreed.
package final class PairingDesk: Sendable {
  /// A person who has sent the right code.
  private struct Claimant {
    let message: MessageReceived
    let link: PluginConnection
    let isNative: Bool
    /// Of this claim, for its time limit.
    let number: Int

    var key: ConversationKey { link.key(message.conversation) }
    var name: String { TextSanitizer.name(message.sender.name) }
  }

  /// A pairing as its terminal follows it.
  private struct Followed {
    let request: PairingCodes.Request
    let steps = Mailbox<PairingStep>()
    var claimant: Claimant?
    /// A request waits for the next step.
    var isAwaited = false
  }

  private struct State {
    var codes = PairingCodes()
    var followed: [String: Followed] = [:]
    var claims = 0
    /// The time at which a refused code was logged last.
    var logged: Duration?
  }

  private let settings: Config.Pairing
  private let people: PairedPeople
  private let sessions: SessionRegistry
  private let bindings: SessionBindings
  private let directory: ConversationDirectory
  private let timeSource: TimeSource
  private let logger: Logger
  private let state = Locked(State())

  /// How long a person who has sent the code waits for the terminal.
  private static let confirmationLimit: Duration = .seconds(30)
  /// How long a terminal may ask for the end of a pairing whose time is over.
  private static let followedAfterwards: Duration = .seconds(60)
  private static let maximumLabel = 48
  private static let nobodyIsThere = "Nobody is at the terminal any more. Ask for another code."

  init(
    settings: Config.Pairing, people: PairedPeople, sessions: SessionRegistry, bindings: SessionBindings,
    directory: ConversationDirectory, timeSource: TimeSource, logger: Logger
  ) {
    self.settings = settings
    self.people = people
    self.sessions = sessions
    self.bindings = bindings
    self.directory = directory
    self.timeSource = timeSource
    self.logger = logger
  }

  // MARK: - The terminal

  /// Opens a code.
  ///
  /// - Parameters:
  ///   - messenger: `KIND` or `KIND:INSTANCE`.
  ///   - session: the id of the session; `nil` admits the person to the messenger, with sessions of their own.
  package func begin(
    messenger: String, session: String?, label: String?
  ) async throws(WireError) -> PairingOffer {
    let link = try link(to: messenger)
    if let session, let obstacle = await obstacle(to: session) { throw WireError(.unavailable, obstacle) }
    let label = label.map { TextSanitizer.line($0, limit: Self.maximumLabel) }.flatMap { $0.isEmpty ? nil : $0 }
    let request = PairingCodes.Request(id: UUID().uuidString, instance: link.name, session: session, label: label)
    let now = timeSource.now()
    let opened = state.withLock { state -> (PairingCode, replaced: String?)? in
      var generator = SystemRandomNumberGenerator()
      var code = PairingCode(using: &generator)
      while state.codes.isTaken(code) { code = PairingCode(using: &generator) }
      let (replaced, isFull) = state.codes.open(request, code, until: now + settings.expiry, now: now)
      guard !isFull else { return nil }
      state.followed[request.id] = Followed(request: request)
      return (code, replaced)
    }
    guard let (code, replaced) = opened else {
      throw WireError(.busy, "too many codes are open; wait until one is used or its time is over")
    }
    if let replaced { finish(replaced, PairingStep(.ended, "Another code was made in place of this one.")) }
    directory.taskScope.add { [self] in await expire(request.id) }
    return offer(request, code, link)
  }

  private func offer(
    _ request: PairingCodes.Request, _ code: PairingCode, _ link: PluginConnection
  ) -> PairingOffer {
    let address = link.capabilities.pairingAddress(of: code.token)
    var lines: [String] = []
    if let address {
      lines = ["Scan this with your phone, or open \(address), and press Start:"]
      lines += QRPicture(of: address)?.lines ?? []
      lines.append("Or write to the bot on \(link.name), in a direct message: /pair \(code.digits)")
    } else {
      lines = ["Write to the bot on \(link.name), in a direct message: /pair \(code.digits)"]
    }
    let seconds = Int(settings.expiry.components.seconds)
    lines.append("The code works once, within \(settings.expiry.forPeople).")
    return PairingOffer(
      pairing: request.id, messenger: link.name, code: code.digits, link: address, lines: lines,
      expiresInSeconds: seconds)
  }

  /// Waits for the next step of a pairing. When the caller is cancelled, the code is void.
  package func step(of pairing: String) async throws(WireError) -> PairingStep {
    let followed = try state.withLock { state throws(WireError) in
      guard let followed = state.followed[pairing] else { throw Self.unknown(pairing) }
      guard !followed.isAwaited else { throw WireError(.invalidRequest, "another request waits for this pairing") }
      state.followed[pairing]?.isAwaited = true
      return followed
    }
    // A step that nobody is told is lost: the terminal has gone.
    guard let step = await followed.steps.next(), !Task.isCancelled else {
      takeBack(pairing)
      throw WireError(.unavailable, "the pairing was taken back")
    }
    if step.kind == .asked {
      state.withLock { $0.followed[pairing]?.isAwaited = false }
    } else {
      forget(pairing)
    }
    return step
  }

  /// Voids the code of a terminal that has gone.
  package func takeBack(_ pairing: String) {
    let now = timeSource.now()
    let followed = state.withLock { state in
      state.codes.end(pairing, .takenBack, now: now)
      return state.followed.removeValue(forKey: pairing)
    }
    followed?.steps.post(PairingStep(.ended, "The terminal that has shown the code has gone."))
    guard let claimant = followed?.claimant else { return }
    // Its caller may be cancelled, and the person waits.
    directory.taskScope.add { [self] in await refuse(claimant, Self.nobodyIsThere) }
  }

  /// The decision about the person who has sent the code.
  ///
  /// - Returns: the outcome, in words for the terminal.
  package func decide(_ decision: PairingDecision, on pairing: String) async throws(WireError) -> String {
    let found = try state.withLock { state throws(WireError) -> (PairingCodes.Request, Claimant)? in
      guard let followed = state.followed[pairing] else { throw Self.unknown(pairing) }
      guard let claimant = followed.claimant else { return nil }
      state.followed[pairing]?.claimant = nil
      return (followed.request, claimant)
    }
    guard let (request, claimant) = found else {
      throw WireError(.unavailable, "nobody waits for this confirmation any more; the code may be sent again")
    }
    guard decision != .deny else {
      state.withLock { $0.codes.end(pairing, .denied, now: timeSource.now()) }
      record("was refused at the terminal", claimant)
      await answer("The person at the terminal has refused the pairing.", claimant)
      finish(pairing, PairingStep(.ended, "\(claimant.name) was refused, and the code is void."))
      return "\(claimant.name) was refused, and the code is void."
    }
    return try await complete(request, claimant, trusting: decision == .trust)
  }

  /// Ends a pairing that nobody has completed, and leaves its end to its terminal.
  private func finish(_ pairing: String, _ step: PairingStep) {
    state.withLock { state in
      state.followed[pairing]?.claimant = nil
      state.followed[pairing]?.steps.post(step)
    }
  }

  private func forget(_ pairing: String) { state.withLock { $0.followed[pairing] = nil } }

  private func expire(_ pairing: String) async {
    guard await timeSource.sleep(for: settings.expiry) else { return }
    let now = timeSource.now()
    for ended in state.withLock({ $0.codes.expire(now: now) }) {
      finish(ended, PairingStep(.ended, "Nobody has used the code in time."))
    }
    guard await timeSource.sleep(for: Self.followedAfterwards) else { return }
    state.withLock { state in
      if !state.codes.isOpen(pairing) { state.followed[pairing] = nil }
    }
  }

  // MARK: - People

  /// Takes a message that is a code; others are left to whoever is next.
  ///
  /// - Parameters:
  ///   - isAdmitted: the person may write here; digits alone are then a message, unless they are a code that is open.
  ///   - isNative: the messenger itself shows its answer.
  func takes(_ message: MessageReceived, _ link: PluginConnection, isAdmitted: Bool, isNative: Bool) -> Bool {
    guard message.conversation.kind == .dm, message.sender.bot != true, message.forwarded != true, !link.isLocal,
      let words = PairingWords(message.text),
      words.isExplicit || !isAdmitted || state.withLock({ $0.codes.knows(words.code) })
    else { return false }
    directory.taskScope.add { [self] in await present(words.code, message, link, isNative: isNative) }
    return true
  }

  private func present(
    _ code: String, _ message: MessageReceived, _ link: PluginConnection, isNative: Bool
  ) async {
    var void: [String] = []
    let now = timeSource.now()
    let (outcome, number) = state.withLock { state in
      state.claims += 1
      let person = "\(link.name):\(message.sender.id)"
      return (state.codes.present(code, in: link.name, by: person, now: now, tried: &void), state.claims)
    }
    for pairing in void {
      logger.warning("a code of a pairing is void, because too many wrong codes were sent")
      finish(pairing, PairingStep(.ended, "Too many wrong codes were sent, so this one is void. Make another."))
    }
    let claimant = Claimant(message: message, link: link, isNative: isNative, number: number)
    switch outcome {
    case .active(let request): await confirm(request, claimant)
    case .missing: await refuse(claimant, "There is no such code. Check the digits, or ask for another code.")
    case .wrongMessenger: await refuse(claimant, "That code is for another messenger.")
    case .consumed: await refuse(claimant, "That code has been used already. Ask for another.")
    case .expired: await refuse(claimant, "That code has expired. Ask for another.")
    case .reserved: await refuse(claimant, "Somebody else has sent that code, and waits for the confirmation.")
    case .throttled(isFirst: true): await refuse(claimant, "Too many wrong codes. Try again in a minute.")
    case .throttled: break
    }
  }

  /// Refusals are logged at most once in a second: wrong codes are cheap to send.
  private func refuse(_ claimant: Claimant, _ text: String) async {
    let now = timeSource.now()
    let isLogged = state.withLock { state in
      if let last = state.logged, now - last < .seconds(1) { return false }
      state.logged = now
      return true
    }
    if isLogged { record("sent a code that does not count: \(text)", claimant) }
    await answer(text, claimant)
  }

  /// The configuration or an earlier decision may speak for the person; otherwise the terminal is asked.
  private func confirm(_ request: PairingCodes.Request, _ claimant: Claimant) async {
    let (sender, link) = (claimant.message.sender, claimant.link)
    if Authorisation.allows(sender, through: link) || people.trusts(sender.id, of: link.name) {
      // The person was told of the obstacle.
      _ = try? await complete(request, claimant, trusting: false)
      return
    }
    let isFollowed = state.withLock { state in
      guard state.followed[request.id] != nil else { return false }
      state.followed[request.id]?.claimant = claimant
      return true
    }
    guard isFollowed else {
      state.withLock { $0.codes.end(request.id, .takenBack, now: timeSource.now()) }
      return await refuse(claimant, Self.nobodyIsThere)
    }
    let limit = Self.confirmationLimit
    let who = "\(claimant.name) (\(TextSanitizer.line(sender.id)) on \(link.name))"
    let asked = PairingStep(
      .asked, "\(who) has sent the code and wants to use \(request.session == nil ? "this bot" : "the session").",
      withinSeconds: Int(limit.components.seconds))
    state.withLock { _ = $0.followed[request.id]?.steps.post(asked) }
    directory.taskScope.add { [self] in
      guard await timeSource.sleep(for: limit) else { return }
      let isOver = state.withLock { state in
        guard state.followed[request.id]?.claimant?.number == claimant.number else { return false }
        state.followed[request.id]?.claimant = nil
        state.codes.release(request.id)
        return true
      }
      guard isOver else { return }
      record("was not confirmed at the terminal in time", claimant)
      await answer("Nobody has confirmed it at the terminal. Send the code again when somebody is there.", claimant)
    }
    await answer("The code is right. Somebody has to confirm it at the terminal within 30 seconds.", claimant)
  }

  /// Admits the person.
  ///
  /// - Throws: the obstacle; the code then stays open.
  private func complete(
    _ request: PairingCodes.Request, _ claimant: Claimant, trusting: Bool
  ) async throws(WireError) -> String {
    do throws(WireError) {
      if let session = request.session, let obstacle = await obstacle(to: session) {
        throw WireError(.unavailable, obstacle)
      }
      let pairing = Pairing(
        id: request.id, conversation: claimant.key, person: claimant.message.sender.id, name: claimant.name,
        session: request.session, label: request.label, createdAt: timeSource.wallTime())
      do {
        let choice = request.session.map {
          Binding(key: claimant.key, conversation: claimant.message.conversation, session: $0)
        }
        try await people.add(pairing, choosing: choice, trusting: trusting)
      } catch {
        logger.error("a pairing could not be stored: \(error)")
        throw WireError(.internalError, "the pairing could not be stored; try again")
      }
      state.withLock { $0.codes.end(request.id, .consumed, now: timeSource.now()) }
      record(trusting ? "was paired, and is trusted" : "was paired", claimant, session: request.session)
      directory.context(claimant.key, claimant.message.conversation, claimant.link)
      var name: String?
      if let id = request.session, let session = await sessions.session(id) {
        name = await session.name
        await bindings.bind(claimant.key, to: session)
      }
      await answer(Self.welcome(to: name), claimant)
      let text = "\(claimant.name) is paired" + (name.map { " with the session \($0)" } ?? " with this bot") + "."
      finish(request.id, PairingStep(.paired, text, pairing: pairing))
      return text
    } catch {
      state.withLock { $0.codes.release(request.id) }
      await answer("The pairing is not possible now: \(error.message). Send the code again later.", claimant)
      throw error
    }
  }

  private static func welcome(to session: String?) -> String {
    session.map {
      "✅ You are paired with the session \($0). Write to it; /sessions lists your sessions, /disconnect ends this."
    }
      ?? "✅ You are admitted. Write something to begin a session; /help lists the commands."
  }

  private func answer(_ text: String, _ claimant: Claimant) async {
    await tell(text, in: claimant.key, answering: claimant.isNative ? claimant.message : nil)
  }

  /// - Parameter command: the command of the messenger's own that this answers.
  private func tell(_ text: String, in key: ConversationKey, answering command: MessageReceived?) async {
    let delivery = directory.deliveryOfRefusals(to: key)
    _ = await delivery.send(delivery.compose(text, role: .notice, replyTo: command?.id))
    if let command {
      await delivery.tell(MessageEnd(received: MessageKey(conversation: key, id: command.id), .handled))
    }
  }

  // MARK: - Ends

  /// Sets the receiver of the sessions whose pairings have changed.
  package func whenChanged(_ told: @escaping @Sendable (Set<String>) -> Void) { people.whenChanged(told) }

  package var active: [Pairing] { people.active }

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
      await tell(text, in: key, answering: command)
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

  package var trusted: [TrustedPerson] { people.trusted }

  /// - Returns: the obstacle, in words.
  package func untrust(_ person: String, on messenger: String) async -> String? {
    let known = people.trusted.filter { $0.person == person && Self.names(messenger, $0.instance) }
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

  // MARK: - Looking

  /// Reports whether `KIND` or `KIND:INSTANCE` names the instance.
  package static func names(_ messenger: String, _ instance: String) -> Bool {
    let wanted = messenger.replacing(":", with: "/")
    return wanted == instance || instance.split(separator: "/").first.map(String.init) == wanted
  }

  private func link(to messenger: String) throws(WireError) -> PluginConnection {
    let named = directory.links.filter { !$0.isLocal && Self.names(messenger, $0.name) }
    // One of several is the default.
    let links = named.count > 1 ? named.filter { $0.name.hasSuffix("/default") } : named
    guard let link = links.first else {
      let others = directory.links.filter { !$0.isLocal }.map { $0.name.replacing("/", with: ":") }.sorted()
      let known = others.isEmpty ? "none is; see pi-relayd status" : "there are: \(others.joined(separator: ", "))"
      throw WireError(
        .invalidParams, "messenger: \(TextSanitizer.line(messenger)) is not connected, or names several; \(known)")
    }
    return link
  }

  /// The reason why a session cannot be paired now.
  private func obstacle(to session: String) async -> String? {
    guard let listing = await sessions.listing(session) else { return "the session was closed" }
    guard listing.role == nil else { return "an assistant's session belongs to its conversation" }
    let status = await listing.status()
    guard let terminal = status.terminal, terminal != .connected else { return nil }
    return "the session is \(status.words)"
  }

  private func record(_ what: String, _ claimant: Claimant, session: String? = nil) {
    var logger = logger.with(claimant.key)
    if let session { logger = logger.with("session", session) }
    logger.notice("\(claimant.name) (id \(TextSanitizer.line(claimant.message.sender.id))) \(what)")
  }

  private static func unknown(_ pairing: String) -> WireError {
    WireError(.invalidParams, "pairing: there is none with this id, or it is over")
  }
}
