import ArgumentParser
import BridgeClient
import RelayJSON
import RelayWire

extension PiBridge {
  struct Send: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Gives the agent a message.")

    enum Delivery: String, EnumerableFlag {
      case auto, steer, followUp, now

      static func name(for value: Self) -> NameSpecification {
        value == .followUp ? [.customLong("follow-up"), .customLong("followUp")] : .long
      }

      static func help(for value: Self) -> ArgumentHelp? {
        switch value {
        case .auto: "At once to an idle agent, as steering to one at work (the default)."
        case .steer: "Into the run in progress."
        case .followUp: "After the run in progress."
        case .now: "At once, even to an agent at work."
        }
      }
    }

    @OptionGroup var target: TargetOptions
    @Flag var delivery: Delivery?
    @Argument(help: "The message; its words are joined by blanks.") var message: [String]

    func run() throws {
      try target.prompt("prompt", message, deliverAs: delivery?.rawValue)
    }
  }

  struct Steer: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Gives the run in progress a message.")
    @OptionGroup var target: TargetOptions
    @Argument(help: "The message; its words are joined by blanks.") var message: [String]

    func run() throws { try target.prompt("steer", message) }
  }

  struct FollowUp: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "follow-up", abstract: "Gives the agent a message for after its run.", aliases: ["followUp"])
    @OptionGroup var target: TargetOptions
    @Argument(help: "The message; its words are joined by blanks.") var message: [String]

    func run() throws { try target.prompt("follow_up", message) }
  }

  struct Abort: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Stops the run in progress.")
    @OptionGroup var target: TargetOptions

    func run() throws { try target.exchange(["type": .string("abort")]) }
  }

  struct Shutdown: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Ends the session's agent.")
    @OptionGroup var target: TargetOptions
    @Flag(help: "Confirms that the agent is to end.") var confirm = false

    func run() throws { try target.exchange(["type": .string("shutdown"), "confirm": .bool(confirm)]) }
  }
}

extension TargetOptions {
  fileprivate func prompt(_ type: String, _ words: [String], deliverAs: String? = nil) throws {
    let message = words.joined(separator: " ").trimmingWhitespace()
    guard !message.isEmpty else { throw ValidationError("the message is empty") }
    var request: [String: JSONValue] = ["type": .string(type), "message": .string(message)]
    if let deliverAs { request["deliverAs"] = .string(deliverAs) }
    try exchange(request)
  }
}
