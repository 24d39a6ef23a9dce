internal import DiscordAPI
internal import MessengerKit
internal import RelayJSON

/// How large a file may be where it goes: servers that are paid for take more.
actor UploadLimits {
  static let minimum = 10 << 20
  static let maximum = 100 << 20

  private let rest: RESTClient
  private var tiers: [String: Int] = [:]

  init(_ rest: RESTClient) { self.rest = rest }

  func learn(guild: JSONValue) {
    guard let id = guild["id"]?.stringValue, let tier = guild["premium_tier"]?.intValue else { return }
    tiers[id] = tier
  }

  /// In bytes.
  func limit(in channel: String) async throws(RESTError) -> Int {
    guard let guild = try await rest.ask(.channel(channel))["guild_id"]?.stringValue else { return Self.minimum }
    if tiers[guild] == nil { learn(guild: try await rest.ask(.guild(guild))) }
    return switch tiers[guild] {
    case 2: 50 << 20
    case 3: Self.maximum
    default: Self.minimum
    }
  }
}
