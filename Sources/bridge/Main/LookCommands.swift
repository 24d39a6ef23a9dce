import ArgumentParser
import BridgeClient
import RelayJSON
import RelayWire

extension PiBridge {
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the sessions that can be reached.")
    @Flag(help: "Prints the registry files as JSON.") var json = false
    @Flag(help: "Includes bridges that are gone.") var all = false
    @Option(help: "The folder of the registry; PI_BRIDGE_DIR, or /tmp/pi-session-bridge-<uid>, if left out.")
    var bridgeDir: String?

    func run() throws {
      var options = TargetOptions()
      options.bridgeDir = bridgeDir
      let listings = try options.directory.listings().filter { all || !$0.isStale }
      guard json else { return print(BridgeTable.text(of: listings)) }
      let items = listings.map(\.json).joined(separator: [UInt8(ascii: ",")])
      print(String(decoding: prettyJSON(Array("[".utf8) + items + Array("]".utf8)), as: UTF8.self))
    }
  }

  struct State: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Prints the session's state.")
    @OptionGroup var target: TargetOptions

    func run() throws { try target.exchange(["type": .string("get_state")]) }
  }

  struct Commands: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Prints the agent's own commands.")
    @OptionGroup var target: TargetOptions

    func run() throws { try target.exchange(["type": .string("get_commands")]) }
  }

  struct History: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Prints the session's latest events.")
    @OptionGroup var target: TargetOptions
    @Argument(help: "At most so many events, the newest ones.") var limit: Int?
    @Flag(name: [.long, .customLong("verbose"), .customShort("v")], help: "Whole events in place of their summaries.")
    var raw = false
    @Option(help: "Events of this name only.") var event: String?
    @Option(help: "Events from this ISO 8601 time on.") var since: String?
    @Option(help: "At most so many bytes of events.") var maxBytes: Int?

    func validate() throws {
      if let limit, limit < 1 { throw ValidationError("the limit: give 1 or more events") }
      if let maxBytes, maxBytes < 1 { throw ValidationError("--max-bytes: give 1 or more") }
    }

    func run() throws {
      var request: [String: JSONValue] = ["type": .string("history")]
      if let limit { request["limit"] = .integer(Int64(limit)) }
      if raw { request["raw"] = .bool(true) }
      if let event { request["event"] = .string(event) }
      if let since { request["since"] = .string(since) }
      if let maxBytes { request["maxBytes"] = .integer(Int64(maxBytes)) }
      try target.exchange(request)
    }
  }

  struct Emit: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Sends a bridge_emit event to all who watch the session.")
    @OptionGroup var target: TargetOptions
    @Argument(help: "The event's text; \"test\" if left out.") var message: [String] = []

    func run() throws {
      let text = message.joined(separator: " ").trimmingWhitespace()
      try target.exchange(["type": .string("emit"), "message": .string(text.isEmpty ? "test" : text)])
    }
  }
}
