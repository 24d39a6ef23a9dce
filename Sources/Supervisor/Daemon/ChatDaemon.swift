internal import ControlServer
internal import RelayModel
import RelayTransport
internal import TerminalChat

/// The daemon that a chat talks to, and what becomes of it when the chat ends.
struct ChatDaemon {
  private let surroundings: CommandLineEnvironment
  private let stopsAfterwards: Bool
  /// The chat has started it.
  private let isOurs: Bool

  /// Starts a daemon in the background if none runs.
  init(_ surroundings: CommandLineEnvironment, stopsAfterwards: Bool) async throws {
    self.surroundings = surroundings
    self.stopsAfterwards = stopsAfterwards
    isOurs = !surroundings.isRunning
    if isOurs { try await DetachedDaemon(surroundings).start() }
  }

  /// Ends the daemon after the chat, or says that it keeps running.
  func leave() async throws {
    // It may have ended meanwhile.
    guard isOurs, surroundings.isRunning else { return }
    if stopsAfterwards, try await !isUsed() {
      for line in try await Stop.stop(surroundings) { StandardError.say(line) }
    } else {
      StandardError.say("pi-relayd keeps running in the background. Stop it with: \(surroundings.command("stop"))")
    }
  }

  private func isUsed() async throws -> Bool {
    let status = try await surroundings.ask(ControlStatus())
    // The connection of this chat is over on this side, and may not be on the other yet.
    let others = (status.terminals ?? []).filter { !ChatConnection.isOfThisProcess($0) }
    return !others.isEmpty || status.plugins.contains { $0.isMessenger && $0.isToRun }
  }
}
