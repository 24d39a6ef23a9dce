import ArgumentParser
internal import ControlServer
import Glibc
import RelayConcurrency
import RelayJSON
internal import RelayModel
import RelayTransport
import RelayWire

struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what happens in a session, until it is closed.",
    discussion: "It goes on when the daemon is upgraded or restarted.")
  @Flag(help: "Print the events as JSON, one a line.") var json = false
  @Option(
    help: ArgumentHelp("How long to wait for a daemon that is away; 0 ends the command.", valueName: "seconds"))
  var reconnectTimeout = 30
  @OptionGroup var target: SessionArgument

  func validate() throws {
    if reconnectTimeout < 0 {
      throw ValidationError("--reconnect-timeout is a number of seconds, 0 or more")
    }
  }

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    // By its id from the first answer on: names change.
    var session = target.session
    var display = WatchDisplay(isJSON: json)
    var backoff = ExponentialBackoff(from: .milliseconds(50), to: .seconds(2))
    /// While the daemon is away: when to give up.
    var deadline: ContinuousClock.Instant?
    while true {
      let events = Mailbox<[UInt8]>()
      if let peer = surroundings.connect(notified: { _, line in events.post(line) }) {
        defer { peer.close() }
        if let began = try await subscribe(to: session, on: peer, again: deadline != nil, surroundings) {
          try display.begin(began, again: deadline != nil)
          session = began.session.id
          if try await show(events, of: peer, on: &display) { return }
          display.interrupt()
          StandardError.say("pi-relayd has stopped or is restarting…")
          backoff.reset()
          deadline = .now + .seconds(reconnectTimeout)
          // At once: the socket of a daemon that upgrades itself takes connections all the time, and least is missed.
          if reconnectTimeout > 0 { continue }
        }
      } else if deadline == nil {
        throw surroundings.notRunning
      }
      if let deadline, deadline <= .now {
        StandardError.say("pi-relayd: the daemon has ended the connection, and has not come back")
        throw ExitStatus.failed
      }
      try await Task.sleep(for: backoff.next())
    }
  }

  /// - Returns: `nil` where a daemon that has come back goes away again.
  private func subscribe(
    to session: String, on peer: JSONRPCConnection, again: Bool, _ surroundings: CommandLineEnvironment
  ) async throws -> SessionSubscribeRequest.Reply? {
    do {
      return try await peer.request(SessionSubscribeRequest(session: session), within: .seconds(30))
    } catch {
      if again, error.isEndOfConnection { return nil }
      throw surroundings.fail(DaemonFailure(error, surroundings))
    }
  }

  /// Shows events until the connection ends.
  ///
  /// - Returns: true when the session is closed.
  private func show(
    _ events: Mailbox<[UInt8]>, of peer: JSONRPCConnection, on display: inout WatchDisplay
  ) async throws -> Bool {
    // The connection's end ends the events.
    async let ended: Void = {
      for await _ in peer.requests {}
      events.close()
    }()
    while let line = await events.next() {
      let value = try JSONCoding.decode(JSONValue.self, from: line)
      if value["method"]?.stringValue == ControlNotification.closing {
        let reason = value["params"]?["reason"]?.stringValue ?? "it says not why"
        StandardError.say("pi-relayd: the daemon has closed the connection: \(reason)")
        throw ExitStatus.failed
      }
      guard let event = value["params"] else { continue }
      display.show(event)
      if event["event"]?.stringValue == "closed" { return true }
    }
    await ended
    return false
  }
}

extension ConnectionError {
  /// The other side has gone; it refused nothing.
  fileprivate var isEndOfConnection: Bool {
    switch self {
    case .closed, .notSent: true
    case .refused, .timedOut, .unreadable: false
    }
  }
}

/// The standard output of a watch, over all its connections.
private struct WatchDisplay {
  let isJSON: Bool
  private var text = EventText()
  /// Titles of the questions that are shown as open, by their ids.
  private var questions: [String: String] = [:]

  init(isJSON: Bool) { self.isJSON = isJSON }

  /// Shows the session as it is where its events begin.
  ///
  /// - Parameter again: events may have been missed since those that were shown.
  mutating func begin(_ began: SessionSubscribeRequest.Reply, again: Bool) throws {
    defer { fflush(nil) }
    if isJSON {
      guard again else { return }
      return print(String(decoding: try JSONCoding.encode(Resumption(began), sorted: true), as: UTF8.self))
    }
    let open = Set(began.questions.map(\.id))
    print(text.line("\(began.session.name) is \(began.session.words)"), terminator: "")
    for (id, title) in questions where !open.contains(id) { print("✖ \(title) (\(id)) is no longer open") }
    questions = questions.filter { open.contains($0.key) }
    for question in began.questions where questions.updateValue(question.title, forKey: question.id) == nil {
      for line in Answer.lines(of: question) { print(line) }
    }
  }

  /// The line that this command adds to the events where others may be missing.
  private struct Resumption: Encodable {
    let session: String
    let event = "watch.resumed"
    let time = Double(Glibc.time(nil))
    let data: SessionSubscribeRequest.Reply

    init(_ began: SessionSubscribeRequest.Reply) {
      session = began.session.id
      data = began
    }
  }

  mutating func show(_ event: JSONValue) {
    defer { fflush(nil) }
    if isJSON { return print(String(decoding: JSONCoding.encode(event), as: UTF8.self)) }
    let id = event["data"]?["id"]?.stringValue ?? ""
    switch event["event"]?.stringValue {
    case "question.opened":
      // Opened between the subscription and its answer, which has it.
      guard questions.updateValue(event["data"]?["title"]?.stringValue ?? "", forKey: id) == nil else { return }
    case "question.settled": questions[id] = nil
    default: break
    }
    print(text.show(event), terminator: "")
  }

  /// Ends the line of a piece of text, before something else is written to the terminal.
  mutating func interrupt() {
    if !isJSON { print(text.finishLine(), terminator: "") }
    fflush(nil)
  }
}

/// Events in words. Pieces of an answer follow one another; everything else has lines of its own.
struct EventText {
  /// A piece of text has not ended its line.
  private var isWithinLine = false
  /// Pieces of the present answer were shown.
  private var hasShownText = false

  mutating func show(_ event: JSONValue) -> String {
    let data = event["data"]
    func text(_ member: String) -> String { data?[member]?.stringValue ?? "" }
    switch event["event"]?.stringValue {
    case "text":
      let piece = text("text")
      if let last = piece.last {
        isWithinLine = !last.isNewline
        hasShownText = true
      }
      return piece
    case "message.ended":
      defer { hasShownText = false }
      // Pieces are left out where a terminal's pi is quicker than its connection.
      return hasShownText || text("beginning").isEmpty ? "" : line(text("beginning"))
    case "run.started", "typed": return line("▶ \(text("text"))")
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

  mutating func finishLine() -> String { line([]) }

  mutating func line(_ text: String) -> String { line([text]) }

  private mutating func line(_ lines: [String]) -> String {
    defer { isWithinLine = false }
    return (isWithinLine ? "\n" : "") + lines.map { $0 + "\n" }.joined()
  }
}
