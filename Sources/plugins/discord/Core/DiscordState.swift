internal import RelayWire

/// What the host keeps for the next life of the plugin: where the gateway's stream stands, and the last message seen in
/// each conversation.
struct DiscordState: Sendable {
  /// Those written in least recently are forgotten first: the state goes with every message.
  static let mostWatermarks = 200

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
      guard let channel = kept?["channel"]?.stringValue, let time = kept?["time"]?.integerValue else { return nil }
      self.init(channel: channel, time: Double(time))
    }

    /// Seconds in which it is not told again. This machine's time of day on both sides, since it outlives the plugin.
    static let pause = 3_600.0
  }

  private(set) var other: Other?
  /// Newest last.
  private(set) var watermarks: [(channel: String, message: String)] = []

  private var missed: Set<String> = []

  init(_ kept: JSONValue?) {
    gateway = GatewaySession(kept: kept?["gateway"])
    me = kept?["me"]?.stringValue
    other = Other(kept: kept?["other"])
    if case .array(let channels)? = kept?["missed"] { missed = Set(channels.compactMap(\.stringValue)) }
    guard case .array(let pairs)? = kept?["seen"] else { return }
    for pair in pairs {
      guard case .array(let pair) = pair, pair.count == 2, let channel = pair[0].stringValue,
        let message = pair[1].stringValue
      else { continue }
      watermarks.append((channel, message))
    }
  }

  var asJSON: JSONValue {
    var state: [String: JSONValue] = [
      "seen": .array(watermarks.map { .array([.string($0.channel), .string($0.message)]) })
    ]
    if !missed.isEmpty { state["missed"] = .array(missed.sorted().map { .string($0) }) }
    if let me { state["me"] = .string(me) }
    if let other { state["other"] = ["channel": .string(other.channel), "time": .integer(Int64(other.time))] }
    if let gateway { state["gateway"] = gateway.asJSON }
    return .object(state)
  }

  func watermark(of channel: String) -> String? { watermarks.last { $0.channel == channel }?.message }

  /// A message has been seen; an older one than the last changes nothing, nor does any where some are missed.
  ///
  /// - Parameter kept: channels that are never forgotten.
  mutating func saw(_ message: String, in channel: String, keeping kept: [String] = []) {
    let last = watermark(of: channel)
    guard !missed.contains(channel), last.map({ Snowflake.isOlder($0, than: message) }) ?? true else { return }
    forget(channel)
    watermarks.append((channel, message))
    guard watermarks.count > Self.mostWatermarks,
      let oldest = watermarks.firstIndex(where: { !kept.contains($0.channel) })
    else { return }
    watermarks.remove(at: oldest)
  }

  /// - Returns: false when that was noted not long ago.
  mutating func noteOther(in channel: String, now: Double) -> Bool {
    // A note from the future was made before the machine's clock was set back.
    if let other, (0..<Other.pause).contains(now - other.time) { return false }
    other = Other(channel: channel, time: now)
    return true
  }

  /// What was written in a channel could not be fetched: its watermark stays until it is.
  mutating func miss(_ channel: String) { missed.insert(channel) }
  mutating func caughtUp(_ channel: String) { missed.remove(channel) }

  mutating func forget(_ channel: String) {
    watermarks.removeAll { $0.channel == channel }
    missed.remove(channel)
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
