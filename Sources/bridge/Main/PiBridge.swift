import ArgumentParser
import BridgeClient
import Glibc
import RelayJSON
import RelayWire

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
      let isSuccess = exitCode(for: error).isSuccess
      if isSuccess { print(fullMessage(for: error)) } else { report(error) }
      Glibc.exit(isSuccess ? 0 : 1)
    }
  }

  /// - Parameter error: one without words, such as an exit code, was reported already.
  private static func report(_ error: any Error) {
    let own = (error as? BridgeError).map { "\($0)" } ?? (error as? SeveralBridges).map { "\($0)" }
    // Also for a command line that cannot be read. Words behind -- are a message.
    if CommandLine.arguments.prefix(while: { $0 != "--" }).contains("--json") {
      let words = own ?? message(for: error)
      if !words.isEmpty { StandardOutput.write(line: json(words, (error as? SeveralBridges)?.listings)) }
    } else {
      if let several = error as? SeveralBridges { print(BridgeTable.text(of: several.listings)) }
      let words = own ?? fullMessage(for: error)
      if !words.isEmpty { StandardError.say(words) }
    }
  }

  /// An error in the shape of a refusal by a bridge, in one line, as `tail` and `stream` print lines.
  private static func json(_ error: String, _ listings: [BridgeListing]?) -> [UInt8] {
    var members: [String: JSONValue] = [
      "type": .string("response"), "success": .bool(false), "error": .string(error),
    ]
    members["bridges"] = listings.map { listings in
      .array(listings.compactMap { try? JSONCoding.decode(JSONValue.self, from: $0.json) })
    }
    var line: [UInt8] = []
    JSONValue.object(members).write(to: &line, sorted: true)
    return line
  }
}
