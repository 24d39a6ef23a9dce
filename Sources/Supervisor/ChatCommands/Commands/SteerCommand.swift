internal import RelayConfig

struct SteerCommand: ChatCommand {
  let name = "steer"
  let arguments: String? = "<text>"
  let summary = "tell the working agent something now"
  let durability = CommandDurability.byPrompt

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    guard !arguments.isEmpty else {
      await context.end(saying: "The text is missing: /steer <text>")
      return nil
    }
    return await context.submit(arguments, as: .steer)
  }
}
