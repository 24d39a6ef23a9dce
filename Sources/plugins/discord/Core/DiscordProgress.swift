internal import MessengerKit
internal import RelayWire

/// The way that the bot has come in what happens at Discord: what it keeps, and what it still has to fetch. A pure value.
struct DiscordProgress: Sendable {
  var state: DiscordState
  var position = StreamPosition()
  private(set) var session: GatewaySession?
  /// The watermarks at the beginning of a session, until all that was missed has been fetched; then nil.
  private var before: DiscordState?
  /// Servers of a new session that have not been told of yet.
  private var unmet: Set<String> = []

  init(_ state: DiscordState) { self.state = state }

  /// Everything that was missed has been fetched.
  var isCaughtUp: Bool { before == nil }

  /// The watermarks from which missed messages are fetched.
  var known: DiscordState { before ?? state }

  /// The state from which the next process goes on. While missed messages are being fetched it holds no session to resume: the
  /// next process fetches them again. Events that are under way come again.
  ///
  /// - Parameter next: what is kept once the host has stored it; by default what is kept now.
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

  /// A server was told of, and what was missed in it has been fetched.
  ///
  /// - Returns: whether that was the last.
  mutating func met(_ server: String) -> Bool { unmet.remove(server) != nil && endCatchingUp() }

  /// Missed messages have been fetched.
  ///
  /// - Returns: false where servers are still to be told of.
  mutating func endCatchingUp() -> Bool {
    guard unmet.isEmpty else { return false }
    before = nil
    return true
  }
}
