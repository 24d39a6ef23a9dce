internal import AgentSessions

struct DisconnectCommand: ChatCommand {
  let name = "disconnect"
  let summary = "talk to no session any more"

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    guard let session = await context.session() else { return "You talk to no session. /sessions lists them." }
    await context.unbind()
    return "You no longer talk to \(await session.name). It goes on by itself; /sessions lists them."
  }
}
