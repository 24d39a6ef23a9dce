import ArgumentParser
import BridgeClient
import Glibc

@main struct PiBridge: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pi-bridge",
    abstract: "Steers pi sessions that offer a bridge: one socket a session, found by its registry file.",
    discussion: """
      Without a target, the one session that can be reached is meant. Put -- before a text that begins with a dash.
      """,
    subcommands: [
      List.self, State.self, Commands.self, Send.self, Steer.self, FollowUp.self, Abort.self, Wait.self, Tail.self,
      Stream.self, History.self, Questions.self, Answer.self, Reject.self, Emit.self, Shutdown.self, Request.self,
    ])

  mutating func run() throws {
    StandardError.say(Self.helpMessage())
    throw ExitCode(1)
  }

  /// Every failure ends with 1: scripts of other clients of the protocol rely on it.
  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch {
      let code = exitCode(for: error)
      let words = (error as? BridgeError).map { "\($0)" } ?? fullMessage(for: error)
      if !words.isEmpty { if code.isSuccess { print(words) } else { StandardError.say(words) } }
      Glibc.exit(code.isSuccess ? 0 : 1)
    }
  }
}
