import Discord
import PluginSDK

/// A Discord bot through which people talk to their sessions.
@main struct DiscordPlugin: Plugin {
  static let name = "discord"
  static let version = "0.1.0"

  private let messenger = SetOnce<DiscordMessenger>()

  init() {}

  func start(_ host: Host) async throws -> Capabilities {
    let discord = try DiscordMessenger(host)
    messenger.set(discord)
    try await host.report(problem: DiscordMessenger.connecting)
    return discord.capabilities
  }

  func setUp(_ dialogue: SetupDialogue, known: JSONValue) async throws -> SetupReply {
    try await DiscordSetup(dialogue, known: known).run()
  }

  func check(_ request: CheckRequest) async throws -> [CheckRequest.Finding] {
    try await DiscordCheck.findings(request)
  }

  func run() async throws { try await messenger.get().run() }

  func send(_ request: MessageSend) async throws -> Receipt { try await messenger.get().send(request) }
  func edit(_ request: MessageEdit) async throws -> EditReceipt { try await messenger.get().edit(request) }
  func delete(_ request: MessageDelete) async throws { try await messenger.get().delete(request) }
  func settled(_ request: MessageSettled) async throws { try await messenger.get().settled(request) }
  func sendFile(_ request: FileSend) async throws -> Receipt { try await messenger.get().sendFile(request) }
  func showDialog(_ request: DialogShow) async throws -> Receipt { try await messenger.get().showDialog(request) }
  func closeDialog(_ request: DialogClose) async throws { try await messenger.get().closeDialog(request) }
  func setTyping(_ request: TypingSet) async throws { try await messenger.get().setTyping(request) }
  func createThread(_ request: ThreadCreate) async throws -> ThreadCreate.Reply {
    try await messenger.get().createThread(request)
  }
  func openConversation(_ request: ConversationOpen) async throws -> ConversationOpen.Reply {
    try await messenger.get().openConversation(request)
  }
  func setPresence(_ request: PresenceSet) async throws { try await messenger.get().setPresence(request) }
  func commandsChanged(_ request: CommandsChanged) async throws { try await messenger.get().commandsChanged(request) }
  func shutdown() async { await messenger.value?.shutdown() }
}
