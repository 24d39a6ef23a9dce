internal import MessengerKit
internal import RelayConcurrency
internal import RelayHTTP
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// Something that Slack has sent over a connection, to be acknowledged once the host has it.
struct Envelope: Sendable {
  enum Kind: Sendable { case event, interaction, command }

  let kind: Kind
  let payload: JSONValue
  fileprivate let id: String
  fileprivate let socket: SlackSocket

  /// Tells Slack not to send it again.
  func acknowledge() { socket.acknowledge(id) }
}

/// One connection of Socket Mode, from its opening to its end.
///
/// https://docs.slack.dev/apis/events-api/using-socket-mode
final class SlackSocket: Sendable {
  /// The end of `read`.
  enum Ending: Sendable {
    /// Slack will close the connection soon; it can be read on.
    case renewalWanted
    case ended(ConnectionEnding)
  }

  private struct State {
    var hasGreeted = false
    var isLeaving = false
    var pending = 0
    var ending: ConnectionEnding?
  }

  private let socket: WebSocket
  private let silence: Duration
  private let state = Locked(State())

  /// - Parameter silence: the time without any sign of Slack after which the connection is lost. Slack pings about every 10 s.
  init(_ socket: WebSocket, silence: Duration = .seconds(30)) {
    self.socket = socket
    self.silence = silence
  }

  var hasGreeted: Bool { state.withLock { $0.hasGreeted } }

  /// Reads until the connection ends, or Slack wants another in its place; called again it reads on.
  ///
  /// - Parameters:
  ///   - greeted: called when Slack has taken the connection.
  ///   - post: called for each envelope.
  func read(greeted: @Sendable () -> Void, post: @Sendable (Envelope) -> Void) async -> Ending {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.watch() }
      defer { group.cancelAll() }
      while let message = await socket.next() {
        guard let words = try? JSONCoding.decode(JSONValue.self, from: message.bytes) else { continue }
        switch words["type"]?.stringValue {
        case "hello":
          state.withLock { $0.hasGreeted = true }
          greeted()
        case "disconnect":
          if let ending = Self.ending(words["reason"]?.stringValue) {
            state.withLock { $0.ending = ending }
            socket.close(code: 1000)
          } else {
            return .renewalWanted
          }
        case "events_api": take(words, .event, post)
        case "interactive": take(words, .interaction, post)
        case "slash_commands": take(words, .command, post)
        default: break
        }
      }
      socket.drop()
      return .ended(
        state.withLock { $0.ending } ?? ConnectionEnding("Slack ends every connection at once", grace: .seconds(60)))
    }
  }

  private func take(_ words: JSONValue, _ kind: Envelope.Kind, _ post: @Sendable (Envelope) -> Void) {
    guard let id = words["envelope_id"]?.stringValue else { return }
    state.withLock { $0.pending += 1 }
    post(Envelope(kind: kind, payload: words["payload"] ?? .null, id: id, socket: self))
  }

  /// `nil` where the connection is only to be replaced.
  static func ending(_ reason: String?) -> ConnectionEnding? {
    switch reason {
    case "link_disabled":
      ConnectionEnding(
        "Socket Mode is switched off for the app; switch it on under Socket Mode in its settings", isRefusal: true)
    case "too_many_websockets":
      ConnectionEnding(
        "the app has too many connections; end other programs that use its app-level token",
        minimumPause: .seconds(30))
    default: nil
    }
  }

  fileprivate func acknowledge(_ id: String) {
    let line = JSONCoding.encode(["envelope_id": .string(id)] as JSONValue)
    // Slack repeats what is not acknowledged, and the host knows it then.
    try? socket.send(line)
    let isOver = state.withLock { state in
      state.pending -= 1
      return state.isLeaving && state.pending == 0
    }
    if isOver { socket.close(code: 1000) }
  }

  /// Closes the connection once everything that came over it is acknowledged: another has taken its place.
  func leave() {
    let isOver = state.withLock { state in
      state.isLeaving = true
      return state.pending == 0
    }
    if isOver { socket.close(code: 1000) }
  }

  private func watch() async {
    while case let left = silence - socket.silence, left > .zero {
      guard (try? await LoopClock.shared.sleep(for: left)) != nil else { return }
    }
    state.withLock { $0.ending = $0.ending ?? ConnectionEnding("Slack has fallen silent", grace: .seconds(60)) }
    socket.drop()
  }
}
