internal import PluginSDK
internal import RelayPipes
internal import RelayWire

/// Takes interactions to the host: acknowledged at once, for Discord waits three seconds, and answered by what the host
/// says.
actor Interactions {
  /// Another machine that shares the token, and whose channel it may be, comes first.
  private static let courtesy: Duration = .milliseconds(700)
  private static let alreadyAcknowledged = 40060

  private let host: Host
  private let rest: RESTClient
  private let channels: Channels
  private let nursery: Nursery
  nonisolated let replies: InteractionReplies
  /// Forms of open questions, newest last.
  private var forms: [(dialog: String, form: Components.Form)] = []
  private static let rememberedForms = 200

  init(_ host: Host, _ rest: RESTClient, _ channels: Channels, _ nursery: Nursery) {
    self.host = host
    self.rest = rest
    self.channels = channels
    self.nursery = nursery
    replies = InteractionReplies(rest)
  }

  func remember(_ form: Components.Form, of dialog: String) {
    forms.append((dialog, form))
    if forms.count > Self.rememberedForms { forms.removeFirst() }
  }

  /// Returns once the host has it, so that what follows keeps its order.
  func take(_ data: JSONValue) async throws {
    guard let interaction = Interaction(data) else { return }
    if let conversation = channels.own(interaction) { return try await take(interaction, conversation, isOwn: true) }
    guard channels.servesElsewhere else { return }
    // In its own time: it must not hold up the others.
    nursery.add { [self] in
      do {
        try await takeElsewhere(interaction)
      } catch {
        host.log("a command used in a channel that is not configured failed: \(error)")
      }
    }
  }

  /// What is used elsewhere concerns the person's direct messages.
  private func takeElsewhere(_ interaction: Interaction) async throws {
    try await LoopClock.shared.sleep(for: Self.courtesy)
    let channel = try await channels.directMessages(with: interaction.sender.id)
    try await take(interaction, Conversation(id: channel, kind: .dm), isOwn: false)
  }

  private func take(_ interaction: Interaction, _ conversation: Conversation, isOwn: Bool) async throws {
    switch interaction.kind {
    case .completion(let name, let typed):
      nursery.add { [self] in await complete(interaction, conversation, name, typed) }
    case .formWanted(let dialog):
      let form = forms.last { $0.dialog == dialog }?.form ?? Components.Form(title: "Question")
      nursery.add { [self] in _ = await answer(interaction, 9, Components.form(form, dialog: dialog)) }
    case .command(let name, let arguments):
      let key = "command:\(interaction.id)"
      guard await acknowledge(interaction, as: key, isThinking: true, isOwn) else { return }
      let reply = try await host.invoked(
        CommandInvoked(
          id: interaction.id, conversation: conversation, sender: interaction.sender, name: name,
          arguments: arguments.isEmpty ? nil : arguments))
      await told(reply, key)
    case .press(let action, let message):
      let press = ActionInvoked(
        id: interaction.id, conversation: conversation, sender: interaction.sender, action: action, message: message)
      try await take(press, interaction, isOwn)
    case .form(let dialog, let text):
      let press = ActionInvoked(
        id: interaction.id, conversation: conversation, sender: interaction.sender, action: dialog, text: text)
      try await take(press, interaction, isOwn)
    }
  }

  private func take(_ press: ActionInvoked, _ interaction: Interaction, _ isOwn: Bool) async throws {
    let key = "action:\(interaction.id)"
    guard await acknowledge(interaction, as: key, isThinking: false, isOwn) else { return }
    await told(try await host.invoked(press), key)
  }

  /// - Returns: false when another machine has answered it.
  private func acknowledge(
    _ interaction: Interaction, as key: String, isThinking: Bool, _ isOwn: Bool
  ) async -> Bool {
    let isPrivate = interaction.guild != nil
    let flags: JSONValue = isPrivate && isThinking ? ["flags": .integer(Int64(DiscordMessages.ephemeral))] : [:]
    // Not waited for, so that the host has it meanwhile. It ends by itself within a request's time.
    let acknowledgement = Task { await answer(interaction, isThinking ? 5 : 6, flags) }
    await replies.open(
      key, interaction, isPrivate: isPrivate, isThinking: isThinking, acknowledgement: acknowledgement)
    return isOwn ? true : await acknowledgement.value
  }

  private func answer(_ interaction: Interaction, _ type: Int64, _ data: JSONValue) async -> Bool {
    do {
      _ = try await rest.ask(
        .answer(interaction: interaction.id, token: interaction.token), ["type": .integer(type), "data": data],
        isRepeatable: false)
      return true
    } catch .refused(_, Self.alreadyAcknowledged, _) {
      return false
    } catch {
      host.log("an interaction could not be answered: \(error.asDeliveryFailure.wireError.message)")
      return false
    }
  }

  private func told(_ reply: MessageReceived.Reply, _ key: String) async {
    guard reply.refused == true else { return }
    do { _ = try await replies.say(["content": "Not authorized."], to: key) } catch {
      host.log("a stranger could not be refused: \(error.asDeliveryFailure.wireError.message)")
    }
  }

  private func complete(
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
}
