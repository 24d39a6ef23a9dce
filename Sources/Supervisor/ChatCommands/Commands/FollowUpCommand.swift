internal import RelayConfig

struct FollowUpCommand: ChatCommand {
  let name = "followup"
  let arguments: String? = "<text>"
  let summary = "tell the agent something when it is done"
  let durability = CommandDurability.byPrompt

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    guard !arguments.isEmpty else {
      await context.end(saying: "The text is missing: /followup <text>")
      return nil
    }
    return await context.submit(arguments, as: .followUp)
  }
}
