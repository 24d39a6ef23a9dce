internal import AgentSessions
internal import FoundationEssentials
internal import PiRPC
internal import PluginConformance
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayHome
internal import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayTransport
internal import RelayWire

// What each command does. Each answers with the text to show, or nil when there is nothing to say.
extension Router {
  /// How a conversation that talks to no session comes to one.
  static let choice = "Choose one with /sessions and /use, or begin one with /new."

  func nothingHere(_ call: CommandCall) -> String {
    "There is no session here yet. "
      + (beginsByWriting(call.key) ? "Write something to begin one, or /sessions and /use." : Self.choice)
  }

  @Sendable static func help(_ router: Router, _ call: CommandCall) async -> String? {
    if let command = CommandRegistry.command(call.arguments.trimmingPrefixSlash()) { return line(command) }
    var lines = ["Write to the agent, or use a command:"]
    lines += CommandRegistry.all.map(line)
    if let session = await router.session(of: call) {
      let own = await session.agentCommands()
      if !own.isEmpty {
        lines.append("The agent's own:")
        lines += own.prefix(40).map {
          "/\($0.name)" + ($0.description.map { " — \(SafeText.line($0, limit: 80))" } ?? "")
        }
      }
    }
    return lines.joined(separator: "\n")
  }

  private static func line(_ command: Command) -> String {
    let names = ([command.name] + command.aliases).map { "/\($0)" }.joined(separator: ", ")
    return names + (command.arguments.map { " \($0)" } ?? "") + " — \(command.summary)"
  }

  @Sendable static func listSessions(_ router: Router, _ call: CommandCall) async -> String? {
    await router.menu(call).text
  }

  @Sendable static func sessionButtons(_ router: Router, _ call: CommandCall) async -> [[Button]]? {
    await router.menu(call).buttons
  }

  func menu(_ call: CommandCall) async -> SessionMenu {
    let isPage = call.name == "sessions"
    return await SessionMenu(
      sessions: addressable(from: call.key).statuses(), beginsByWriting: beginsByWriting(call.key),
      current: session(of: call)?.id,
      page: isPage ? Int(call.arguments) ?? 1 : 1,
      limits: call.link.capabilities.buttons)
  }

  @Sendable static func disconnect(_ router: Router, _ call: CommandCall) async -> String? {
    guard let session = await router.session(of: call) else { return "You talk to no session. /sessions lists them." }
    await router.unbind(call.key)
    return "You no longer talk to \(await session.name). It goes on by itself; /sessions lists them."
  }

  @Sendable static func use(_ router: Router, _ call: CommandCall) async -> String? {
    guard !call.arguments.isEmpty else {
      let menu = await router.menu(call)
      return menu.isEmpty ? menu.text : menu.text + "\nWhich one? /use <number|name>"
    }
    switch await router.addressable(from: call.key).choose(call.arguments.unquoted()) {
    case .one(let listing):
      guard let session = await router.host.session(listing.id) else { return "That session was just closed." }
      await router.bind(call, to: session)
      let status = await session.status()
      return "You now talk to \(status.name)" + (status.model.map { " (\($0))" } ?? "") + "."
    case .ambiguous(let names):
      return "Several match: \(names.joined(separator: ", ")). Use the number, or more of the name."
    case .none: return "There is no session \"\(SafeText.line(call.arguments))\"; /sessions lists them."
    }
  }

  @Sendable static func new(_ router: Router, _ call: CommandCall) async -> String? {
    var wish = NewSession(call.arguments)
    if let problem = await router.problem(with: &wish, call.link) { return problem }
    let session = await router.makeSession(
      call.key, call.link, name: wish.name, directory: wish.folder, model: wish.model)
    await router.bind(call, to: session)
    return "New session \(await session.name) in \(session.directory)."
  }

  @Sendable static func status(_ router: Router, _ call: CommandCall) async -> String? {
    guard let session = await router.session(of: call) else { return await router.nothingHere(call) }
    let figures = await session.figures()
    let status = await session.status()
    var lines = ["\(status.name): \(status.words)", "Folder: \(status.directory)"]
    if let model = status.model {
      let remarks = [
        status.isDemo ? "demo agent" : nil, figures.thinkingLevel.map { "thinking: \(SafeText.line($0))" },
      ].compactMap(\.self)
      lines.append("Model: \(model)" + (remarks.isEmpty ? "" : " (\(remarks.joined(separator: "; ")))"))
    }
    lines += figures.lines
    if let branch = Workplace.branch(of: status.directory) {
      let changes = await router.host.changes(in: status.directory)
      lines.append("Branch: \(SafeText.line(branch))" + (changes.map { ", \($0)" } ?? ""))
    }
    if let container = Workplace.container() { lines.append("Container: \(container)") }
    lines += Workplace.fullDisks(of: [status.directory, router.host.dependencies.folders.home])
    if status.openDialogs > 0 { lines.append("Waiting for your answer to a question.") }
    if status.restarts > 0 { lines.append("The agent was restarted \(status.restarts) time(s).") }
    return lines.joined(separator: "\n")
  }

  @Sendable static func stop(_ router: Router, _ call: CommandCall) async -> String? {
    guard let session = await router.session(of: call) else { return await router.nothingHere(call) }
    switch await session.abort() {
    case .nothing: return "The agent is idle: there is nothing to stop."
    case .compaction: return nil
    case .run: break
    }
    let waiting = await session.status().queued
    return waiting > 0 ? "Stopping. \(waiting) waiting message(s) run next." : nil
  }

  @Sendable static func steer(_ router: Router, _ call: CommandCall) async -> String? {
    guard !call.arguments.isEmpty else {
      await router.settle(call.message, call.key, saying: "What shall I tell it? /steer <text>")
      return nil
    }
    return await router.prompt(call.withText(call.arguments), call.link, as: .steer)
  }

  @Sendable static func followUp(_ router: Router, _ call: CommandCall) async -> String? {
    guard !call.arguments.isEmpty else {
      await router.settle(call.message, call.key, saying: "What shall I tell it afterwards? /followup <text>")
      return nil
    }
    return await router.prompt(call.withText(call.arguments), call.link, as: .followUp)
  }

  @Sendable static func compact(_ router: Router, _ call: CommandCall) async -> String? {
    guard let session = await router.session(of: call) else {
      await router.settle(call.message, call.key, saying: router.nothingHere(call))
      return nil
    }
    // Behind everything that waits; the conversation goes on meanwhile, and is told by the session.
    router.taskScope.add {
      if let result = await session.compact(call.arguments.isEmpty ? nil : call.arguments) {
        let isTold = router.watchers.shows(session.id, to: call.key)
        await router.settle(call.message, call.key, saying: isTold ? nil : result)
      } else {
        await router.postpone(call.message, call.key)
      }
    }
    return nil
  }

  @Sendable static func model(_ router: Router, _ call: CommandCall) async -> String? {
    guard let session = await router.session(of: call) else { return await router.nothingHere(call) }
    guard call.arguments.isEmpty else {
      await router.host.use(model: call.arguments, in: session)
      return "The next run uses \(SafeText.line(call.arguments, limit: 80))."
    }
    let current = await session.status().model ?? "the agent's default"
    let names = await session.modelNames().prefix(40)
    guard !names.isEmpty else { return "Model: \(current)" }
    return "Model: \(current)\nAvailable: \(names.joined(separator: ", "))"
  }

  @Sendable static func rename(_ router: Router, _ call: CommandCall) async -> String? {
    guard let session = await router.session(of: call) else { return await router.nothingHere(call) }
    let wish = SafeText.line(call.arguments)
    guard !wish.isEmpty else { return "What shall it be called? /name <name>" }
    return "This session is now called \(await router.host.rename(session, to: wish, from: call.key))."
  }

  @Sendable static func closeSession(_ router: Router, _ call: CommandCall) async -> String? {
    guard let session = await router.session(of: call) else { return await router.nothingHere(call) }
    let name = await session.name
    // First its end, which watchers are told of; then nobody watches.
    await router.host.close(session)
    await router.forget(session, closedBy: call.key)
    return "\(name) is closed."
  }
}

extension CommandCall {
  var key: ConversationKey { ConversationKey(instance: link.name, conversation: message.conversation.id) }

  func withText(_ text: String) -> MessageReceived {
    var message = message
    message.text = text
    return message
  }
}

extension String {
  func unquoted() -> String {
    guard count >= 2, first == last, first == "\"" || first == "'" else { return self }
    return String(dropFirst().dropLast())
  }

  func trimmingPrefixSlash() -> String { hasPrefix("/") ? String(dropFirst()) : self }

  var expandingTilde: String {
    guard hasPrefix("~/") || self == "~" else { return self }
    return FileManager.default.homeDirectoryForCurrentUser.path + dropFirst()
  }
}
