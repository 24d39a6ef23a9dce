internal import MessageDelivery
internal import RelayJSON
internal import RelayWire

/// The tools of a run, and the messages that show progress. A pure value.
struct ToolProgress: Codable, Equatable {
  private var running: [String: FormatTool.Call] = [:]
  private var finished: [FormatTool.Call] = []
  /// By the tool's id, or the name of other work.
  private var messages: [String: MessageSender.Sent] = [:]

  var keys: Set<String> { Set(messages.values.map(\.key)) }

  func call(_ id: String) -> FormatTool.Call? { running[id] }

  mutating func startTool(_ id: String, _ call: FormatTool.Call) { running[id] = call }

  /// - Returns: the message that said that the tool is running.
  mutating func endTool(_ id: String, name: String, failed: Bool) -> MessageSender.Sent? {
    var call = running.removeValue(forKey: id) ?? FormatTool.Call(name: name, arguments: .null)
    call.failed = failed ? true : nil
    finished.append(call)
    return takeMessage(of: id)
  }

  mutating func takeFinished() -> [FormatTool.Call] {
    defer { finished = [] }
    return finished
  }

  func message(of id: String) -> MessageSender.Sent? { messages[id] }

  mutating func show(_ id: String, _ sent: MessageSender.Sent?) { messages[id] = sent }

  mutating func takeMessage(of id: String) -> MessageSender.Sent? { messages.removeValue(forKey: id) }

  mutating func takeMessages() -> [MessageSender.Sent] {
    defer { messages = [:] }
    return Array(messages.values)
  }

  /// Forgets tools that are still running: their end will not be seen. Tools that have ended are still shown.
  mutating func runEnded() { running = [:] }

  mutating func detach() {
    running = [:]
    finished = []
  }
}
