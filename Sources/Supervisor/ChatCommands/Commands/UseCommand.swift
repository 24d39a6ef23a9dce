internal import AgentSessions
internal import RelayModel
internal import RelayText
internal import RelayWire
internal import SessionCatalog

struct UseCommand: ChatCommand {
  let name = "use"
  let arguments: String? = "<number|name>"
  let summary = "talk to another session"
  let completesArguments = true

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    guard !arguments.isEmpty else {
      let menu = await context.menu()
      return menu.isEmpty ? menu.text : menu.text + "\nWhich one? /use <number|name>"
    }
    switch await context.addressableSessions().choose(arguments.unquoted()) {
    case .one(let listing):
      guard let session = await context.wake(listing) else { return "That session was just closed." }
      await context.bind(to: session)
      let status = await session.status()
      return "You now talk to \(status.name)" + (status.model.map { " (\($0))" } ?? "") + "."
    case .ambiguous(let names):
      return "Several match: \(names.joined(separator: ", ")). Use the number, or more of the name."
    case .none: return "There is no session \"\(TextSanitizer.line(arguments))\"; /sessions lists them."
    }
  }

  func buttons(_ arguments: String, in context: any CommandContext) async -> [[Button]]? {
    await context.menu().buttons
  }

  func completions(in context: any CommandContext) async -> [String] {
    await context.addressableSessions().statuses().map(\.name)
  }
}
