internal import AgentSessions
internal import RelayModel
internal import SessionStates

struct StopCommand: ChatCommand {
  let name = "stop"
  let aliases = ["abort"]
  let summary = "interrupt the agent"
  let durability = CommandDurability.bestEffort

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    guard let session = await context.session() else { return context.noSession }
    switch await session.abort() {
    case .nothing: return "The agent is idle: there is nothing to stop."
    case .compaction: return nil
    case .run: break
    }
    let waiting = await session.status().queued
    return waiting > 0 ? "Stopping. \(waiting) waiting message(s) run next." : nil
  }
}
