internal import AgentSessions
internal import RelayModel
internal import RelayText

struct ModelCommand: ChatCommand {
  let name = "model"
  let arguments: String? = "[name]"
  let summary = "show or change the model"
  let completesArguments = true

  private static let maximumListed = 40

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    guard let session = await context.session() else { return context.noSession }
    guard arguments.isEmpty else {
      await context.use(model: arguments, in: session)
      return "The next run uses \(TextSanitizer.line(arguments, limit: 80))."
    }
    let current = await session.status().model ?? "the agent's default"
    let names = await session.modelNames().prefix(Self.maximumListed)
    guard !names.isEmpty else { return "Model: \(current)" }
    return "Model: \(current)\nAvailable: \(names.joined(separator: ", "))"
  }

  func completions(in context: any CommandContext) async -> [String] {
    await context.awakeSession()?.modelNames() ?? []
  }
}
