internal import DiscordAPI
internal import MessengerKit
internal import RelayJSON

/// The state that the host keeps for the next start of the plugin: the position in the gateway's stream, and the last
/// message seen in each conversation.
struct DiscordState: Sendable {
  var gateway: GatewaySession?
  /// The bot's own id, which Discord does not tell again where a session is resumed.
  var me: String?
  /// Where and when (in seconds since 1970) another program was last seen to answer with this token.
  struct Other: Sendable, Equatable {
    var channel: String
    var time: Double

    init(channel: String, time: Double) {
      self.channel = channel
      self.time = time
    }

    init?(kept: JSONValue?) {
      guard let channel = kept?["channel"]?.stringValue, let time = kept?["time"]?.intValue else { return nil }
      self.init(channel: channel, time: Double(time))
    }

    /// Seconds in which another program is not reported again. Both times are the machine's, because the value outlives
    /// the plugin's process.
    static let pause = 3_600.0
  }

  private(set) var other: Other?
  /// The last message seen in each conversation.
  var seen: Watermarks

  init(_ kept: JSONValue?) {
    gateway = GatewaySession(kept: kept?["gateway"])
    me = kept?["me"]?.stringValue
    other = Other(kept: kept?["other"])
    seen = Watermarks(kept: kept, isOlder: { Snowflake.isOlder($0, than: $1) })
  }

  var asJSON: JSONValue {
    var state: [String: JSONValue] = [:]
    seen.keep(in: &state)
    if let me { state["me"] = .string(me) }
    if let other { state["other"] = ["channel": .string(other.channel), "time": .integer(Int64(other.time))] }
    if let gateway { state["gateway"] = gateway.asJSON }
    return .object(state)
  }

  /// - Returns: false when that was noted not long ago.
  mutating func noteOther(in channel: String, now: Double) -> Bool {
    // A note from the future was made before the machine's clock was set back.
    if let other, (0..<Other.pause).contains(now - other.time) { return false }
    other = Other(channel: channel, time: now)
    return true
  }
}

/// Discord's ids grow with time.
///
/// https://discord.com/developers/docs/reference#snowflakes
enum Snowflake {
  static func isOlder(_ id: String, than other: String) -> Bool {
    guard let id = UInt64(id), let other = UInt64(other) else { return false }
    return id < other
  }

  /// The id that something made just before it had.
  static func before(_ id: String) -> String { UInt64(id).map { String($0 > 0 ? $0 - 1 : 0) } ?? "0" }
}
