internal import AgentSessions
internal import PiRPC
internal import RelayText

struct HelpCommand: ChatCommand {
  let name = "help"
  let arguments: String? = "[command]"
  let summary = "what you can do here"
  let durability = CommandDurability.none
  let completesArguments = true

  /// Of the agent's own commands.
  private static let maximumListed = 40

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    if let command = CommandRegistry.command(arguments.trimmingPrefixSlash()) { return command.helpLine }
    var lines = ["Write to the agent, or use a command:"]
    lines += CommandRegistry.all.map(\.helpLine)
    if let session = await context.awakeSession() {
      let own = await session.agentCommands()
      if !own.isEmpty {
        lines.append("The agent's own:")
        lines += own.prefix(Self.maximumListed).map {
          "/\($0.name)" + ($0.description.map { " — \(TextSanitizer.line($0, limit: 80))" } ?? "")
        }
      }
    }
    return lines.joined(separator: "\n")
  }

  func completions(in context: any CommandContext) async -> [String] { CommandRegistry.all.map(\.name) }
}
