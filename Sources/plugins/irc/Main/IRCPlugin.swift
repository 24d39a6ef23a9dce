import IRC
import PluginSDK

/// A bot on an IRC network through which people talk to their sessions.
@main struct IRCPlugin: Plugin {
  static let name = "irc"
  static let version = "0.1.0"

  private let messenger = SetOnce<IRCMessenger>()

  init() {}

  func start(_ host: Host) async throws -> Capabilities {
    let irc = try IRCMessenger(host)
    messenger.set(irc)
    try await host.report(problem: IRCMessenger.connecting)
    return irc.capabilities
  }

  func setUp(_ dialogue: SetupDialogue, known: JSONValue) async throws -> SetupReply {
    try await IRCSetup.run(dialogue, known: known)
  }

  func check(_ request: CheckRequest) async -> [CheckRequest.Finding] { await IRCSetup.findings(request) }
  func run() async throws { try await messenger.value?.run() }
  func send(_ request: MessageSend) async throws -> Receipt { try await messenger.get().send(request) }
  func openConversation(_ request: ConversationOpen) async -> ConversationOpen.Reply {
    // The person's id is the conversation's.
    .init(conversation: Conversation(id: request.user, kind: .dm))
  }
  func shutdown() async { await messenger.value?.shutdown() }
}
