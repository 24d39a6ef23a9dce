import ArgumentParser
internal import ControlServer
import Glibc
import RelayConcurrency
internal import RelayModel
import RelayTransport
import RelayWire

struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what happens in a session, until it is closed.")
  @Flag(help: "Print the events as JSON, one a line.") var json = false
  @OptionGroup var target: SessionArgument

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    let lines = Mailbox<[UInt8]>()
    guard let peer = surroundings.connect(notified: { _, line in lines.post(line) }) else {
      throw surroundings.notRunning
    }
    do {
      let began = try await peer.request(SessionSubscribeRequest(session: target.session), within: .seconds(30))
      if !json {
        print("\(began.session.name) is \(began.session.words)")
        for question in began.questions { for line in Answer.lines(of: question) { print(line) } }
        fflush(nil)
      }
    } catch {
      throw surroundings.fail(DaemonFailure(error, surroundings))
    }
    // The connection's end ends the events.
    async let ended: Void = {
      for await _ in peer.requests {}
      lines.close()
    }()
    var text = EventText()
    while let line = await lines.next() {
      let value = try JSONCoding.decode(JSONValue.self, from: line)
      if value["method"]?.stringValue == ControlNotification.closing {
        let reason = value["params"]?["reason"]?.stringValue ?? "it says not why"
        StandardError.say("pi-relayd: the daemon has closed the connection: \(reason)")
        throw ExitStatus.failed
      }
      guard let event = value["params"] else { continue }
      if json {
        print(String(decoding: JSONCoding.encode(event), as: UTF8.self))
      } else {
        print(text.show(event), terminator: "")
      }
      fflush(nil)
      if event["event"]?.stringValue == "closed" { return peer.close() }
    }
    await ended
    StandardError.say("pi-relayd: the daemon has ended the connection")
    throw ExitStatus.failed
  }
}

/// Events in words. Pieces of an answer follow one another; everything else has lines of its own.
struct EventText {
  /// A piece of text has not ended its line.
  private var isWithinLine = false

  mutating func show(_ event: JSONValue) -> String {
    let data = event["data"]
    func text(_ member: String) -> String { data?[member]?.stringValue ?? "" }
    switch event["event"]?.stringValue {
    case "text":
      let piece = text("text")
      if let last = piece.last { isWithinLine = !last.isNewline }
      return piece
    case "run.started": return line("▶ \(text("text"))")
    case "tool.started": return line("🔧 \(text("name")) \(text("arguments"))")
    case "tool.ended" where data?["failed"] == true: return line("🔧 \(text("name")) ✗")
    case "question.opened":
      let options = data?["options"]?.arrayValue?.compactMap(\.stringValue) ?? []
      return line(
        ["❓ \(text("title")) (\(text("id")))"] + options.enumerated().map { "  \($0 + 1). \($1)" })
    case "question.settled":
      return line(data?["answer"] == nil ? "✖ \(text("why"))" : "✔ \(text("answer")) (\(text("by")))")
    case "notice", "progress": return text("text").isEmpty ? "" : line(text("text"))
    case "run.ended":
      return line(data?["problem"] == nil ? "⏹ \(text("outcome"))" : "❌ \(text("problem"))")
    case "closed": return line("The session is closed.")
    default: return ""
    }
  }

  private mutating func line(_ text: String) -> String { line([text]) }

  private mutating func line(_ lines: [String]) -> String {
    defer { isWithinLine = false }
    return (isWithinLine ? "\n" : "") + lines.joined(separator: "\n") + "\n"
  }
}
