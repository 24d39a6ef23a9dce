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

/// Admits people to private conversations by codes that a terminal of this machine shows. Nothing is consumed and nobody is admitted
/// before the session is known to be there and the person at the terminal has agreed.
package final class PairingDesk: Sendable {
  package let revocation: PairingRevocation
  private let settings: Config.Pairing
  private let people: PairedPeople
  private let sessions: SessionRegistry
  private let bindings: SessionBindings
  private let directory: ConversationDirectory
  private let timeSource: TimeSource
  private let logger: Logger
  private let state = Locked(OpenPairings())

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
    revocation = PairingRevocation(
      people: people, sessions: sessions, bindings: bindings, directory: directory, logger: logger)
  }

  package var active: [Pairing] { people.active }
  package var trusted: [TrustedPerson] { people.trusted }

  // MARK: - The terminal

  /// Opens a code.
  ///
  /// - Parameters:
  ///   - messenger: `KIND` or `KIND:INSTANCE`.
  ///   - session: the id of the session; `nil` admits the person to the messenger, with sessions of their own.
  package func begin(
    messenger: String, session: String?, label: String?
  ) async throws(WireError) -> PairingOffer {
    let link = try directory.link(to: messenger)
    if let session, let obstacle = await obstacle(to: session) { throw WireError(.unavailable, obstacle) }
    let label = label.map { TextSanitizer.line($0, limit: Self.maximumLabel) }.flatMap { $0.isEmpty ? nil : $0 }
    let request = PairingCodes.Request(id: UUID().uuidString, instance: link.name, session: session, label: label)
    let now = timeSource.now()
    let opened = state.withLock { $0.open(request, until: now + settings.expiry, now: now) }
    guard let (code, replaced) = opened else {
      throw WireError(.busy, "too many codes are open; wait until one is used or its time is over")
    }
    if let replaced { finish(replaced, PairingStep(.ended, "Another code was made in place of this one.")) }
    directory.taskScope.add { [self] in await expire(request.id) }
    return PairingOffer(request, code, on: link, expiry: settings.expiry)
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
    let found = try state.withLock { state throws(WireError) -> (PairingCodes.Request, PairingClaimant)? in
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
      let person = "\(link.name):\(message.sender.id)"
      return (state.codes.present(code, in: link.name, by: person, now: now, tried: &void), state.claimNumber())
    }
    for pairing in void {
      logger.warning("a code of a pairing is void, because too many wrong codes were sent")
      finish(pairing, PairingStep(.ended, "Too many wrong codes were sent, so this one is void. Make another."))
    }
    let claimant = PairingClaimant(message: message, link: link, isNative: isNative, number: number)
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

  private func refuse(_ claimant: PairingClaimant, _ text: String) async {
    let isLogged = state.withLock { $0.logsRefusal(now: timeSource.now()) }
    if isLogged { record("sent a code that does not count: \(text)", claimant) }
    await answer(text, claimant)
  }

  /// The configuration or an earlier decision may speak for the person; otherwise the terminal is asked.
  private func confirm(_ request: PairingCodes.Request, _ claimant: PairingClaimant) async {
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
    _ request: PairingCodes.Request, _ claimant: PairingClaimant, trusting: Bool
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

  private func answer(_ text: String, _ claimant: PairingClaimant) async {
    await directory.tell(text, in: claimant.key, answering: claimant.isNative ? claimant.message : nil)
  }

  // MARK: - Looking

  /// The reason why a session cannot be paired now.
  private func obstacle(to session: String) async -> String? {
    guard let listing = await sessions.listing(session) else { return "the session was closed" }
    guard listing.role == nil else { return "an assistant's session belongs to its conversation" }
    let status = await listing.status()
    guard let terminal = status.terminal, terminal != .connected else { return nil }
    return "the session is \(status.words)"
  }

  private func record(_ what: String, _ claimant: PairingClaimant, session: String? = nil) {
    var logger = logger.with(claimant.key)
    if let session { logger = logger.with("session", session) }
    logger.notice("\(claimant.name) (id \(TextSanitizer.line(claimant.message.sender.id))) \(what)")
  }

  private static func unknown(_ pairing: String) -> WireError {
    WireError(.invalidParams, "pairing: there is none with this id, or it is over")
  }
}
