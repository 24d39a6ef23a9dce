internal import AgentSessions
internal import RelayModel
internal import RelayText

struct StatusCommand: ChatCommand {
  let name = "status"
  let summary = "show the state of this session"
  let durability = CommandDurability.none

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    guard let session = await context.session() else { return context.noSession }
    let figures = await session.figures()
    let status = await session.status()
    var lines = ["\(status.name): \(status.words)", "Folder: \(status.directory)"]
    if let model = status.model {
      let remarks = [
        status.isDemo ? "demo agent" : nil, figures.thinkingLevel.map { "thinking: \(TextSanitizer.line($0))" },
      ].compactMap(\.self)
      lines.append("Model: \(model)" + (remarks.isEmpty ? "" : " (\(remarks.joined(separator: "; ")))"))
    }
    lines += figures.lines
    if let branch = GitWorkspace.branch(of: status.directory) {
      let changes = await context.uncommittedChanges(in: status.directory)
      lines.append("Branch: \(TextSanitizer.line(branch))" + (changes.map { ", \($0)" } ?? ""))
    }
    if let container = Machine.container() { lines.append("Container: \(container)") }
    lines += Machine.fullDisks(of: [status.directory, context.home])
    if status.openDialogs > 0 { lines.append("Waiting for your answer to a question.") }
    if status.restarts > 0 { lines.append("The agent was restarted \(status.restarts) time(s).") }
    return lines.joined(separator: "\n")
  }
}
