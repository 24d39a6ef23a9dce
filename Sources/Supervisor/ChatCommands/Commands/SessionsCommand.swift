internal import RelayWire

struct SessionsCommand: ChatCommand {
  let name = "sessions"
  let arguments: String? = "[page]"
  let summary = "list the sessions"
  let durability = CommandDurability.none

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    await context.menu(page: Int(arguments) ?? 1).text
  }

  func buttons(_ arguments: String, in context: any CommandContext) async -> [[Button]]? {
    await context.menu(page: Int(arguments) ?? 1).buttons
  }
}
