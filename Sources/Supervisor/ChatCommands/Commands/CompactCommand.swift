struct CompactCommand: ChatCommand {
  let name = "compact"
  let arguments: String? = "[what to keep]"
  let summary = "shorten the context"
  let durability = CommandDurability.untilDone

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    guard let session = await context.session() else {
      await context.end(saying: context.noSession)
      return nil
    }
    await context.compact(session, keeping: arguments.isEmpty ? nil : arguments)
    return nil
  }
}
