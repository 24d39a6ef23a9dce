internal import RelayText

struct NameCommand: ChatCommand {
  let name = "name"
  let arguments: String? = "<name>"
  let summary = "rename this session"

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    guard let session = await context.session() else { return context.noSession }
    let name = TextSanitizer.line(arguments)
    guard !name.isEmpty else { return "The name is missing: /name <name>" }
    return "This session is now called \(await context.rename(session, to: name))."
  }
}
