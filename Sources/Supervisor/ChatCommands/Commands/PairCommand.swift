/// Codes are taken before anything is a command: this one is seen only where no code counts.
struct PairCommand: ChatCommand {
  let name = "pair"
  let arguments: String? = "<code>"
  let summary = "send the code of a pairing"
  let durability = CommandDurability.none

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    "Send /pair and the code in a direct message. Whoever runs pi gets a code with /relay connect, or with pi-relayd pair."
  }
}
