internal import DiscordAPI
internal import MessengerKit
internal import RelayJSON

/// The bot's progress through Discord's events: the position to keep, and the messages that must still be fetched. A
/// pure value.
struct DiscordProgress: Sendable {
  var state: DiscordState
  var position = StreamPosition()
  private(set) var session: GatewaySession?
  /// The watermarks at the beginning of a session, until all that was missed has been fetched; then nil.
  private var before: DiscordState?
  /// Servers of a new session whose event has not come yet.
  private var unmet: Set<String> = []

  init(_ state: DiscordState) { self.state = state }

  /// Everything that was missed has been fetched.
  var isCaughtUp: Bool { before == nil }

  /// The watermarks from which missed messages are fetched.
  var known: DiscordState { before ?? state }

  /// The state from which the next process continues. While missed messages are being fetched it holds no session to
  /// resume, so that the next process fetches them again. Events under way come again.
  ///
  /// - Parameter next: the state once the host has stored it; by default the present state.
  func storable(_ next: DiscordState? = nil) -> JSONValue {
    var state = next ?? state
    state.gateway = isCaughtUp ? session : nil
    if let safe = position.safe { state.gateway?.sequence = safe }
    return state.asJSON
  }

  mutating func saw(_ session: GatewaySession) {
    self.session = session
    position.saw(session.sequence)
  }

  /// A new session has begun, which will tell of these servers.
  mutating func beganSession(servers: [String]) {
    unmet = Set(servers)
    before = state
  }

  /// Notes that a server's event has come, and its missed messages were fetched.
  ///
  /// - Returns: whether it was the last server.
  mutating func met(_ server: String) -> Bool { unmet.remove(server) != nil && endCatchingUp() }

  /// Notes that missed messages were fetched.
  ///
  /// - Returns: false where events of servers are still to come.
  mutating func endCatchingUp() -> Bool {
    guard unmet.isEmpty else { return false }
    before = nil
    return true
  }
}
