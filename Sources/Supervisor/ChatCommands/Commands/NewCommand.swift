internal import AgentSessions

struct NewCommand: ChatCommand {
  let name = "new"
  let arguments: String? = "[name] [--in folder] [--model model]"
  let summary = "begin a session and talk to it"
  let audience = CommandAudience.beginners

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    var request = NewSession(arguments)
    if let problem = await request.resolveDirectory(in: context) { return problem }
    let session = await context.create(request)
    await context.bind(to: session)
    return "New session \(await session.name) in \(session.directory)."
  }
}
