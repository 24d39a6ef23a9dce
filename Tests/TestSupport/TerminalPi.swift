internal import CLinux
internal import Glibc
package import RelayConcurrency
package import RelayJSON
internal import RelayTransport
internal import RelayWire

/// A pi in a person's terminal, as its extension connects it to the daemon: the test plays pi.
package final class TerminalPi: Sendable {
  /// Commands of the daemon, but for the one that asks for the state.
  package let commands = Mailbox<JSONValue>()
  /// The answer to `session.attach`.
  package let greeting: JSONValue
  private let outbox: Outbox
  private let reader: LineReader
  private let isStreaming = Locked(false)

  /// Attaches.
  ///
  /// - Parameters:
  ///   - socket: the daemon's control socket.
  ///   - session: pi's id of the session.
  ///   - more: members of the request, as JSON.
  /// - Throws: the daemon's refusal.
  package init(_ socket: String, session: String, name: String, directory: String, more: String = "") async throws {
    let descriptor = relay_connect_unix(socket)
    guard descriptor >= 0 else { throw SystemError("connect", code: -descriptor) }
    let outbox = Outbox(descriptor: fcntl(descriptor, F_DUPFD_CLOEXEC, 3), limit: 16 << 20)
    let lines = Mailbox<JSONValue>()
    let (commands, isStreaming) = (commands, isStreaming)
    let isAttached = Locked(false)
    reader = LineReader(
      descriptor: descriptor, maximumLineLength: 16 << 20,
      handlers: .init(
        line: { framed in
          guard case .line(let bytes) = framed, let line = try? JSONCoding.decode(JSONValue.self, from: bytes) else {
            return
          }
          guard isAttached.withLock({ $0 }) else {
            isAttached.withLock { $0 = true }
            lines.post(line)
            return
          }
          guard line["type"] == "get_state" else {
            commands.post(line)
            return
          }
          let id = line["id"]?.stringValue ?? ""
          let state = #"{"isStreaming":\#(isStreaming.withLock { $0 }),"sessionId":"\#(session)"}"#
          // A daemon that has gone asks nothing more.
          try? outbox.send(
            Array(
              (#"{"id":"\#(id)","type":"response","command":"get_state","success":true,"data":\#(state)}"# + "\n").utf8)
          )
        },
        end: {
          commands.close()
          lines.close()
        }))
    self.outbox = outbox
    try reader.start()
    let request =
      #"{"jsonrpc":"2.0","id":1,"method":"session.attach","params":{"session":"\#(session)","#
      + #""name":"\#(name)","directory":"\#(directory)"\#(more.isEmpty ? "" : "," + more)}}"#
    try outbox.send(Array((request + "\n").utf8))
    guard let answer = await lines.next() else { throw SystemError("the daemon closed the connection", code: 0) }
    if let error = answer["error"] {
      throw WireError(.invalidRequest, error["message"]?.stringValue ?? "the daemon refused without a word")
    }
    greeting = answer["result"] ?? .null
  }

  /// Writes events as pi does.
  package func write(_ lines: String...) throws {
    for line in lines { try outbox.send(Array((line + "\n").utf8)) }
  }

  /// Answers a command.
  ///
  /// - Parameter disposition: what has become of a message: `started`, `queued` or `handled`.
  package func accept(_ command: JSONValue, disposition: String = "started") throws {
    let (id, type) = (command["id"]?.stringValue ?? "", command["type"]?.stringValue ?? "")
    let data = #"{"disposition":"\#(disposition)"}"#
    try write(#"{"id":"\#(id)","type":"response","command":"\#(type)","success":true,"data":\#(data)}"#)
  }

  /// Begins a run with a message.
  ///
  /// - Parameter source: where it came from: `interactive` for one that was typed in the terminal.
  package func beginRun(_ text: String, source: String) throws {
    isStreaming.withLock { $0 = true }
    try write(
      #"{"type":"agent_start"}"#,
      #"{"type":"message_start","source":"\#(source)","message":{"role":"user","content":[{"type":"text","text":"\#(text)"}]}}"#
    )
  }

  /// Ends the run with an answer.
  package func endRun(_ answer: String) throws {
    isStreaming.withLock { $0 = false }
    try write(
      #"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"\#(answer)"}],"stopReason":"stop"}}"#,
      #"{"type":"agent_end"}"#, #"{"type":"agent_settled"}"#)
  }

  /// The next command of this type.
  package func next(_ type: String) async -> JSONValue? {
    while let command = await commands.next() { if command["type"]?.stringValue == type { return command } }
    return nil
  }

  /// pi leaves.
  package func close() {
    outbox.abandon()
    reader.close()
  }
}
