internal import DiscordAPI
internal import MessengerKit
internal import RelayConcurrency
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// Which places are this machine's: the channels that are configured, the threads in them, and, on the machine that has
/// them, direct messages and places where the bot is mentioned.
final class Channels: Sendable {
  /// Announcement, public and private threads.
  static let threadTypes: Set<Int> = [10, 11, 12]
  private static let remembered = 10_000

  /// A channel of a guild, as far as it matters here.
  private enum Known {
    case channel
    case thread(parent: String, title: String)
  }

  private let configured: Set<String>
  /// Direct messages, and commands used where no machine is at home, are this machine's.
  let servesElsewhere: Bool
  private let hearsMentions: Bool
  /// Where the bot was mentioned.
  private let heard: Locked<Set<String>>
  private let rest: RESTClient
  private let known = Locked<[String: Known]>([:])
  private let direct = Locked<[String: String]>([:])

  /// - Parameter heard: channels in which the bot was mentioned in an earlier process.
  init(_ settings: DiscordSettings, heard: some Sequence<String>, _ rest: RESTClient) {
    configured = Set(settings.channels ?? [])
    servesElsewhere = settings.servesElsewhere
    hearsMentions = settings.mentions == true
    self.heard = Locked(Set(heard))
    self.rest = rest
  }

  /// The conversation that an event belongs to; nil when it is none of this machine's.
  ///
  /// - Parameter isAddressed: whether it is a message to the bot; nil: something that happened to a message.
  /// - Throws: when Discord does not say what a channel is.
  func conversation(of data: JSONValue, isAddressed: Bool? = nil) async throws(RESTError) -> Conversation? {
    guard let channel = data["channel_id"]?.stringValue else { return nil }
    guard data["guild_id"]?.stringValue != nil else {
      return servesElsewhere ? Conversation(id: channel, kind: .dm) : nil
    }
    if configured.contains(channel) { return Conversation(id: channel, kind: .channel) }
    if !configured.isEmpty, let thread = try await thread(channel) { return thread }
    guard hearsMentions, isAddressed ?? hears(channel) else { return nil }
    if known.withLock({ $0[channel] }) == nil { learn(try await rest.ask(.channel(channel))) }
    return place(channel)
  }

  /// Reports whether an authorised person has mentioned the bot there.
  func hears(_ channel: String) -> Bool { hearsMentions && heard.withLock { $0.contains(channel) } }

  /// An authorised person has mentioned the bot there, so later changes of messages there matter too.
  func hear(_ channel: String) {
    guard hearsMentions else { return }
    heard.withLock { heard in
      if heard.count >= Self.remembered { heard = [] }
      heard.insert(channel)
    }
  }

  private func place(_ id: String, parent: String? = nil) -> Conversation {
    switch known.withLock({ $0[id] }) {
    case .thread(let parent, let title)?: Conversation(id: id, kind: .thread, parent: parent, title: title)
    case .channel?: Conversation(id: id, kind: .channel)
    case nil: Conversation(id: id, kind: parent == nil ? .channel : .thread, parent: parent)
    }
  }

  func own(_ interaction: Interaction) -> Conversation? {
    if interaction.guild == nil { return servesElsewhere ? Conversation(id: interaction.channel, kind: .dm) : nil }
    if configured.contains(interaction.channel) { return Conversation(id: interaction.channel, kind: .channel) }
    guard let parent = interaction.parent, configured.contains(parent) else {
      return hears(interaction.channel) ? place(interaction.channel, parent: interaction.parent) : nil
    }
    return Conversation(id: interaction.channel, kind: .thread, parent: parent)
  }

  /// Reports that no other machine that shares the token can be meant.
  func isCertain(_ interaction: Interaction) -> Bool {
    own(interaction) != nil && !hears(interaction.channel)
  }

  func configured(_ channel: String?) -> Conversation? {
    channel.flatMap { configured.contains($0) ? Conversation(id: $0, kind: .channel) : nil }
  }

  /// `nil` when it is no thread in one of the bot's channels.
  private func thread(_ id: String) async throws(RESTError) -> Conversation? {
    if known.withLock({ $0[id] }) == nil { learn(try await rest.ask(.channel(id))) }
    guard case .thread(let parent, let title)? = known.withLock({ $0[id] }), configured.contains(parent) else {
      return nil
    }
    return Conversation(id: id, kind: .thread, parent: parent, title: title)
  }

  /// Learns from Discord's description of a channel or a thread.
  @discardableResult
  func learn(_ channel: JSONValue?) -> Conversation? {
    guard let channel, let id = channel["id"]?.stringValue else { return nil }
    let isThread = channel["type"]?.intValue.map(Self.threadTypes.contains) ?? false
    let title = channel["name"]?.stringValue ?? ""
    let parent = isThread ? channel["parent_id"]?.stringValue : nil
    known.withLock { known in
      if known.count >= Self.remembered { known = [:] }
      known[id] = parent.map { .thread(parent: $0, title: title) } ?? .channel
    }
    guard let parent, configured.contains(parent) else { return nil }
    return Conversation(id: id, kind: .thread, parent: parent, title: title)
  }

  /// All that the bot sees of a guild it is in.
  func learn(guild: JSONValue) {
    for list in ["channels", "threads"] {
      if case .array(let channels)? = guild[list] { for channel in channels { learn(channel) } }
    }
  }

  /// Reports whether a server has a channel that is configured.
  func areIn(_ guild: JSONValue) -> Bool {
    ["channels", "threads"].contains { list in
      guard case .array(let channels)? = guild[list] else { return false }
      return channels.contains { $0["id"]?.stringValue.map(configured.contains) ?? false }
    }
  }

  /// The servers of the channels that are configured, as far as the bot sees them.
  func servers() async throws(RESTError) -> Set<String> {
    var servers: Set<String> = []
    for channel in configured {
      do throws(RESTError) {
        if let server = try await rest.ask(.channel(channel))["guild_id"]?.stringValue { servers.insert(server) }
      } catch .refused(let status, _, _) where status == 403 || status == 404 {
        // doctor says that the bot does not see it.
        continue
      }
    }
    return servers
  }

  /// Reports whether several people may read what is said there; true where that is not known.
  func isShared(_ channel: String) async -> Bool {
    if configured.contains(channel) || known.withLock({ $0[channel] }) != nil { return true }
    if direct.withLock({ $0.values.contains(channel) }) { return false }
    guard let place = try? await rest.ask(.channel(channel)) else { return true }
    return place["guild_id"]?.stringValue != nil
  }

  /// Direct messages with somebody, as far as they are open.
  func knownDirectMessages(with user: String, or channel: String) -> Conversation {
    Conversation(id: direct.withLock { $0[user] } ?? channel, kind: .dm)
  }

  func forget(_ id: String) { known.withLock { $0[id] = nil } }

  /// The channel of direct messages with somebody.
  func directMessages(with user: String) async throws(RESTError) -> String {
    if let channel = direct.withLock({ $0[user] }) { return channel }
    guard let id = try await rest.ask(.openDM, ["recipient_id": .string(user)])["id"]?.stringValue else {
      throw .unanswered("it named no channel")
    }
    direct.withLock { direct in
      if direct.count >= Self.remembered { direct = [:] }
      direct[user] = id
    }
    return id
  }
}
