internal import DiscordAPI
internal import MessengerKit
internal import PluginSDK
internal import RelayConcurrency
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// Takes interactions to the host. Each is acknowledged as it arrives, for Discord waits three seconds; it is handed over in
/// the order of events, and answered by what the host says.
actor Interactions {
  /// The result of an acknowledgement.
  enum Acknowledgement: Sendable {
    case taken
    /// Another program has answered it, or an earlier process of this plugin.
    case before
    case failed
  }

  private struct Arrival {
    let time: ContinuousClock.Instant
    let acknowledgement: Task<Acknowledgement, Never>
    let isReplay: Bool
  }

  /// Another machine that shares the token, and whose channel it may be, comes first.
  private static let courtesy: Duration = .milliseconds(700)
  /// After which an answer comes too late.
  private static let patience: Duration = .seconds(4)
  private static let alreadyAcknowledged = "40060"

  private let host: Host
  private let rest: RESTClient
  private let channels: Channels
  private let taskScope: TaskScope
  nonisolated let replies: InteractionReplies
  private let arrivals = Locked<[String: Arrival]>([:])
  /// Arriving interactions happened before this process started, and an earlier process may have acknowledged them.
  private let isReplay = Locked(true)
  nonisolated let forms = OpenForms()

  init(_ host: Host, _ rest: RESTClient, _ channels: Channels, _ taskScope: TaskScope) {
    self.host = host
    self.rest = rest
    self.channels = channels
    self.taskScope = taskScope
    replies = InteractionReplies(rest)
  }

  /// Notes that everything missed has been received: interactions that arrive from now on happen now.
  nonisolated func connected() { isReplay.withLock { $0 = false } }

  // MARK: - At once

  /// Acknowledges an interaction at its arrival; earlier events may take longer.
  nonisolated func arrived(_ data: JSONValue) {
    guard let interaction = Interaction(data) else { return }
    let own = channels.own(interaction)
    guard own != nil || channels.servesElsewhere else { return }
    switch interaction.kind {
    case .completion(let name, let typed):
      let place = own ?? channels.knownDirectMessages(with: interaction.sender.id, or: interaction.channel)
      taskScope.add { [self] in await complete(interaction, place, name, typed) }
    case .formWanted(let dialog):
      taskScope.add { [self] in await offer(forms.form(of: dialog), of: dialog, interaction) }
    case .command, .press, .form:
      let time = replies.now()
      // It ends by itself within a request's time.
      let task = Task { await acknowledge(interaction, isFromSupervisor: channels.isCertain(interaction)) }
      let isReplay = isReplay.withLock { $0 }
      arrivals.withLock { $0[interaction.id] = Arrival(time: time, acknowledgement: task, isReplay: isReplay) }
    }
  }

  private nonisolated func acknowledge(_ interaction: Interaction, isFromSupervisor: Bool) async -> Acknowledgement {
    if !isFromSupervisor { do { try await LoopClock.shared.sleep(for: Self.courtesy) } catch { return .failed } }
    guard interaction.isCommand else { return await answer(interaction, 6, [:]) }
    let flags: JSONValue =
      interaction.guild == nil ? [:] : ["flags": .integer(Int64(DiscordMessages.ephemeral))]
    return await answer(interaction, 5, flags)
  }

  private nonisolated func answer(_ interaction: Interaction, _ type: Int64, _ data: JSONValue) async -> Acknowledgement
  {
    do {
      try await rest.ask(
        .answer(interaction: interaction.id, token: interaction.token), ["type": .integer(type), "data": data],
        within: Self.patience, isRepeatable: false)
      return .taken
    } catch .refused(_, Self.alreadyAcknowledged, _) {
      return .before
    } catch {
      host.log("an interaction could not be answered: \(error.words)")
      return .failed
    }
  }

  /// The form holds what was written already, which is not for strangers.
  private nonisolated func offer(_ form: DialogForm, of dialog: String, _ interaction: Interaction) async {
    do {
      guard try await isAllowed(interaction) else {
        let refusal: JSONValue = ["content": "Not authorized.", "flags": .integer(Int64(DiscordMessages.ephemeral))]
        _ = await answer(interaction, 4, refusal)
        return
      }
      _ = await answer(interaction, 9, Components.form(form, dialog: dialog))
    } catch {
      host.log("a form could not be offered: \(error)")
    }
  }

  private nonisolated func complete(
    _ interaction: Interaction, _ conversation: Conversation, _ name: String, _ typed: String
  ) async {
    do {
      let lines = try await host.completions(
        CommandComplete(conversation: conversation, sender: interaction.sender, text: "/\(name) \(typed)"))
      let choices = lines.compactMap { line -> JSONValue? in
        let words = String(line.dropFirst(name.count + 2))
        return words.isEmpty || words.utf16.count > 100 ? nil : ["name": .string(words), "value": .string(words)]
      }
      _ = await answer(interaction, 8, ["choices": .array(Array(choices.prefix(25)))])
    } catch {
      host.log("/\(name) could not be completed: \(error)")
    }
  }

  // MARK: - In order

  /// Hands an interaction over. Returns once the host has it, so that later events keep their order.
  ///
  /// - Parameter done: called when the host has it, if that is later: until then the interaction must come again after
  ///   a crash.
  func take(_ data: JSONValue, later done: @escaping @Sendable () async -> Void) async throws -> Bool {
    guard let interaction = Interaction(data),
      let arrival = arrivals.withLock({ $0.removeValue(forKey: interaction.id) })
    else { return true }
    if let conversation = channels.own(interaction) {
      try await take(interaction, conversation, arrival)
      return true
    }
    // In its own time: it must not hold up the others.
    taskScope.add { [self] in
      do {
        try await takeElsewhere(interaction, arrival)
      } catch {
        host.log("a command used in a channel that is not configured failed: \(error)")
        await say("The command failed; use it again.", to: interaction)
      }
      await done()
    }
    return false
  }

  /// Takes an interaction that was used elsewhere: it concerns the person's direct messages.
  private func takeElsewhere(_ interaction: Interaction, _ arrival: Arrival) async throws {
    // An uncertain interaction belongs to another machine here: an earlier one was delivered again, too.
    guard await arrival.acknowledgement.value == .taken, await open(interaction, arrival) else { return }
    // Nothing is opened for a stranger.
    guard try await isAllowed(interaction) else { return await say("Not authorized.", to: interaction) }
    let channel = try await channels.directMessages(with: interaction.sender.id)
    try await handOver(interaction, Conversation(id: channel, kind: .dm))
  }

  private nonisolated func isAllowed(_ interaction: Interaction) async throws -> Bool {
    let place = Conversation(id: interaction.channel, kind: .channel)
    return try await !host.completions(CommandComplete(conversation: place, sender: interaction.sender, text: "/help"))
      .isEmpty
  }

  private func take(_ interaction: Interaction, _ conversation: Conversation, _ arrival: Arrival) async throws {
    guard await open(interaction, arrival) else { return }
    try await handOver(interaction, conversation)
  }

  /// - Returns: false for an interaction that another machine has answered. One that an earlier process of this plugin
  ///   has answered is continued.
  private func open(_ interaction: Interaction, _ arrival: Arrival) async -> Bool {
    let acknowledgement = await arrival.acknowledgement.value
    if acknowledgement == .before, !arrival.isReplay { return false }
    await replies.open(interaction, arrived: arrival.time, isThere: acknowledgement != .failed)
    return true
  }

  private func handOver(_ interaction: Interaction, _ conversation: Conversation) async throws {
    let reply: MessageReceived.Reply
    let (id, sender) = (interaction.id, interaction.sender)
    switch interaction.kind {
    case .command(let name, let arguments):
      reply = try await host.invoked(
        CommandInvoked(
          id: id, conversation: conversation, sender: sender, name: name, arguments: arguments.isEmpty ? nil : arguments
        ))
    case .press(let action, let message):
      reply = try await host.invoked(
        ActionInvoked(id: id, conversation: conversation, sender: sender, action: action, message: message))
    case .form(let dialog, let text):
      reply = try await host.invoked(
        ActionInvoked(id: id, conversation: conversation, sender: sender, action: dialog, text: text))
    case .completion, .formWanted: return
    }
    if reply.refused == true { await say("Not authorized.", to: interaction) }
  }

  private func say(_ text: String, to interaction: Interaction) async {
    do { _ = try await replies.say(["content": .string(text)], to: interaction.key) } catch {
      host.log("an interaction could not be answered: \(error.words)")
    }
  }
}
