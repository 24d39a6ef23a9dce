internal import ConversationSessions
internal import PluginRuntime
internal import RelayConfig
internal import RelayWire
internal import SessionCatalog

/// Decides who may do anything at all. Asked before any effect: message, command, button, completion.
enum Authorisation {
  /// People whom the configuration admits.
  ///
  /// - Parameter link: the messenger it came through. A local terminal belongs to the user the daemon runs as.
  static func allows(_ sender: Sender, through link: PluginConnection) -> Bool {
    if link.isLocal { return true }
    guard sender.bot != true, let access = link.messenger?.access else { return false }
    return access.admits(sender.id, roles: sender.roles ?? [])
  }

  /// The same, and people who were paired in this private conversation.
  static func allows(
    _ sender: Sender, in conversation: Conversation, through link: PluginConnection, or people: PairedPeople
  ) -> Bool {
    if allows(sender, through: link) { return true }
    guard sender.bot != true, link.messenger != nil, conversation.kind == .dm else { return false }
    return people.admits(sender.id, in: link.key(conversation))
  }
}

/// Says "not authorized" to a stranger at most once in a while.
struct RefusalLimiter {
  private var told: [String: Duration] = [:]
  static let interval: Duration = .seconds(600)
  static let remembered = 1_000

  /// Decides whether to tell this sender now.
  mutating func shouldTell(_ sender: String, now: Duration) -> Bool {
    if let last = told[sender], now - last < Self.interval { return false }
    if told.count >= Self.remembered { told = told.filter { now - $0.value < Self.interval } }
    guard told.count < Self.remembered else { return false }
    told[sender] = now
    return true
  }
}
