import ArgumentParser
import BridgeClient
import Glibc
import RelayJSON
import RelayWire

extension PiBridge {
  struct Stream: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints the session's events, one JSON object a line, until the session is gone.")
    @OptionGroup var target: TargetOptions

    func run() throws {
      var conversation = try target.connect()
      conversation.onEvent = { value in
        var line: [UInt8] = []
        value.write(to: &line, sorted: true)
        StandardOutput.write(String(decoding: line, as: UTF8.self) + "\n")
      }
      _ = try conversation.ask(.object(["type": .string("subscribe"), "enabled": .bool(true)]))
      while let line = try conversation.next(within: nil) {
        StandardOutput.write(String(decoding: line, as: UTF8.self) + "\n")
      }
      throw BridgeError("bridge-stream-closed")
    }
  }

  struct Tail: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows the session's work as it happens.")
    @OptionGroup var target: TargetOptions

    func run() throws {
      guard !target.json else {
        var stream = Stream()
        stream.target = target
        return try stream.run()
      }
      var conversation = try target.connect()
      var view = LiveView(isColoured: isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil)
      let state = try JSONCoding.decode(
        JSONValue.self, from: try conversation.ask(.object(["type": .string("get_state")])))
      show(view.greeting(state["data"] ?? .null))
      while let line = try conversation.next(within: nil) {
        guard let value = try? JSONCoding.decode(JSONValue.self, from: line) else { continue }
        show(view.text(for: value))
      }
      throw BridgeError("The session is gone.")
    }

    private func show(_ text: String) {
      if !text.isEmpty { StandardOutput.write(text) }
    }
  }

  struct Wait: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Returns when the agent is idle; fails when --timeout is over before.")
    @OptionGroup var target: TargetOptions

    func run() throws {
      var conversation = try target.connect()
      let deadline = ContinuousClock.now + .seconds(target.timeout)
      while true {
        let answer = try conversation.ask(.object(["type": .string("get_state")]))
        let state = try JSONCoding.decode(JSONValue.self, from: answer)["data"]
        if state?["isIdle"]?.boolValue == true, state?["hasPendingMessages"]?.boolValue != true {
          if target.json { print(String(decoding: prettyJSON(answer), as: UTF8.self)) }
          return
        }
        do {
          try waitForEnd(of: &conversation, until: deadline)
        } catch let error as BridgeError where error == .timedOut {
          throw BridgeError("the agent is still at work after \(Int(target.timeout)) s")
        }
      }
    }

    /// An agent becomes idle with the end of a run or of a compaction, and with nothing else.
    private func waitForEnd(of conversation: inout BridgeConversation, until deadline: ContinuousClock.Instant) throws {
      let ends: Set = ["agent_end", "agent_settled", "session_compact", "compaction_end"]
      while true {
        let left = max(.zero, deadline - .now)
        guard let line = try conversation.next(within: left) else { throw BridgeError("the session is gone") }
        let value = try? JSONCoding.decode(JSONValue.self, from: line)
        if let event = value?["event"]?.stringValue, ends.contains(event) { return }
      }
    }
  }
}
