internal import AgentSessions

struct CloseCommand: ChatCommand {
  let name = "close"
  let summary = "end this session"
  let audience = CommandAudience.beginners

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    guard let session = await context.session() else { return context.noSession }
    let name = await session.name
    await context.close(session)
    return "\(name) is closed."
  }
}
