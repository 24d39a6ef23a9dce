internal import PluginRuntime
internal import RelayConfig
internal import RelayWire

/// Decides who may do anything at all. Asked before any effect: message, command, button, completion.
enum Authorisation {
  /// - Parameter link: the messenger it came through. A local terminal belongs to the user the daemon runs as.
  static func allows(_ sender: Sender, through link: PluginConnection) -> Bool {
    if link.isLocal { return true }
    guard sender.bot != true, let access = link.messenger?.access else { return false }
    if access.everyone || access.users.contains(sender.id) { return true }
    return !access.roles.isDisjoint(with: sender.roles ?? [])
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
