internal import AgentSessions
internal import ChatCommands
internal import ConversationSessions
internal import PiRPC
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayTransport
internal import RelayWire
internal import SessionCatalog

/// Completes commands and their arguments while a person types them.
struct CommandCompletion: Sendable {
  let dispatcher: MessageDispatcher
  let people: PairedPeople
  let clock: any Clock<Duration>

  func answer(_ ask: CommandComplete, _ link: PluginConnection, _ request: IncomingRequest) async {
    guard Authorisation.allows(ask.sender, in: ask.conversation, through: link, or: people) else {
      return request.reply(CommandComplete.Reply(completions: []))
    }
    request.reply(CommandComplete.Reply(completions: await completions(of: ask, link)))
  }

  private func completions(of ask: CommandComplete, _ link: PluginConnection) async -> [String] {
    let text = ask.text.trimmingWhitespace()
    guard text.hasPrefix("/"), !ask.text.contains(" ") else { return await arguments(of: ask, link) }
    var names = CommandRegistry.all.flatMap { [$0.name] + $0.aliases }
    if let session = await dispatcher.bindings.awakeSession(of: link.key(ask.conversation)) {
      names += await session.agentCommands().map(\.name)
    }
    return names.map { "/\($0)" }.filter { $0.hasPrefix(text) }.sorted()
  }

  private func arguments(of ask: CommandComplete, _ link: PluginConnection) async -> [String] {
    let parts = ask.text.split(separator: " ", maxSplits: 1).map(String.init)
    guard let name = parts.first?.trimmingPrefixSlash(), let command = CommandRegistry.command(name),
      command.completesArguments
    else { return [] }
    let message = MessageReceived(id: "", conversation: ask.conversation, sender: ask.sender, text: ask.text)
    let context = CommandRun(command, "", message, link, dispatcher)
    let known = try? await withDeadline(PromptRouter.completionLimit, clock: clock) {
      await command.completions(in: context)
    }
    let typed = (parts.count > 1 ? parts[1] : "").lowercased()
    return (known ?? []).filter { $0.lowercased().contains(typed) }.map { "/\(name) \($0)" }
  }
}
