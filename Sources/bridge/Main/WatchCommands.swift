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
      var (conversation, deadline) = try target.connect()
      conversation.onEvent = { _, line in StandardOutput.write(line: line) }
      _ = try conversation.ask(.object(["type": .string("subscribe"), "enabled": .bool(true)]), until: deadline)
      while let line = try conversation.next(until: nil) { StandardOutput.write(line: line) }
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
      var (conversation, deadline) = try target.connect()
      // Shown behind the state: what the session does meanwhile.
      var meanwhile: [JSONValue] = []
      conversation.onEvent = { value, _ in meanwhile.append(value) }
      var view = LiveView(isColoured: isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil)
      let state = try JSONCoding.decode(
        JSONValue.self, from: try conversation.ask(.object(["type": .string("get_state")]), until: deadline))
      show(view.greeting(state["data"] ?? .null))
      for value in meanwhile { show(view.text(for: value)) }
      while let line = try conversation.next(until: nil) {
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

    /// No event tells that a session has become idle: its state is asked for again after this time.
    private static let interval: Duration = .milliseconds(500)

    func run() throws {
      var (conversation, deadline) = try target.connect()
      while true {
        let answer = try conversation.ask(.object(["type": .string("get_state")]), until: deadline)
        let response = try JSONCoding.decode(JSONValue.self, from: answer)
        guard let state = response["data"] else {
          throw BridgeError(response["error"]?.stringValue ?? "the session does not tell its state")
        }
        if state["isIdle"]?.boolValue == true, state["hasPendingMessages"]?.boolValue != true {
          if target.json { print(String(decoding: prettyJSON(answer), as: UTF8.self)) }
          return
        }
        try waitForEnd(of: conversation, until: min(deadline, .now + Self.interval))
        guard .now < deadline else {
          throw BridgeError("the agent is still at work after \(target.timeout.formatted) s")
        }
      }
    }

    /// Returns when the state may be another: at the end of a run or a compaction, and in the end anyway. An older pi's run
    /// may go on behind its end, and the message of another may be about to begin one.
    private func waitForEnd(of conversation: BridgeConversation, until deadline: ContinuousClock.Instant) throws {
      let ends: Set = ["agent_end", "agent_settled", "session_compact", "compaction_end"]
      do throws(BridgeError) {
        while let line = try conversation.next(until: deadline) {
          let value = try? JSONCoding.decode(JSONValue.self, from: line)
          if let event = value?["event"]?.stringValue, ends.contains(event) { return }
        }
      } catch {
        if error == .timedOut { return }
        throw error
      }
      throw BridgeError("the session is gone")
    }
  }
}

extension Double {
  /// Seconds as a person writes them.
  fileprivate var formatted: String { self == rounded() ? "\(Int(self))" : "\(self)" }
}
