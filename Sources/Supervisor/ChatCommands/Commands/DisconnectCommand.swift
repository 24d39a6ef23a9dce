internal import AgentSessions

struct DisconnectCommand: ChatCommand {
  let name = "disconnect"
  let summary = "leave this session"

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    guard let session = await context.session() else { return "You talk to no session. /sessions lists all sessions." }
    if await context.endPairing(with: session) { return nil }
    await context.unbind()
    return "You no longer talk to \(await session.name). The session keeps running; /sessions lists all sessions."
  }
}
