internal import RelayWire

struct SpawnCommand: ChatCommand {
  let name = "spawn"
  let arguments: String? = "[name] [--in folder] [--model model] [-- task]"
  let summary = "open a thread with a session of its own"
  let audience = CommandAudience.configured

  func run(_ arguments: String, in context: any CommandContext) async -> String? {
    var request = NewSession(arguments)
    guard context.capabilities.threads == true, context.conversation.kind != .dm else {
      return "A thread can be opened only in a channel; here /new begins a session."
    }
    if let problem = await request.resolveDirectory(in: context) { return problem }
    let title = request.name ?? request.folder?.split(separator: "/").last.map(String.init) ?? "session"
    do {
      return "Opened \(try await context.openThread(for: request, title: title))."
    } catch {
      return "❌ The thread could not be opened: \(error)"
    }
  }
}
