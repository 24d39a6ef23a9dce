public import PluginSDK

/// The state of sends in this process of the plugin, by the host's keys: a key that comes again makes no second
/// message, and a send that was made in part is continued. A pure value.
///
/// It knows nothing of earlier processes: there a service's own look-up or idempotency keys help, or the host marks the message as
/// a possible repeat.
public struct SendProgress<Rest: Sendable>: Sendable {
  private enum Stage: Sendable {
    case partly(Rest)
    case done(Receipt)
  }

  private let maximum: Int
  private var stages: [String: Stage] = [:]
  /// Oldest first.
  private var keys: [String] = []

  /// - Parameter maximum: the number of sends that are remembered; the oldest are forgotten first.
  public init(maximum: Int = 500) { self.maximum = maximum }

  /// The receipt of a send that is done; `nil` for other keys.
  public func receipt(of key: String) -> Receipt? { if case .done(let receipt)? = stages[key] { receipt } else { nil } }

  /// The unsent rest of a send; `nil` for a send that is not known.
  public func rest(of key: String) -> Rest? { if case .partly(let rest)? = stages[key] { rest } else { nil } }

  /// Remembers the unsent rest of a send.
  public mutating func sent(_ key: String, but rest: Rest) { note(.partly(rest), key) }

  /// Remembers a send that is done.
  public mutating func finish(_ key: String, _ receipt: Receipt) { note(.done(receipt), key) }

  /// Forgets a send of which nobody knows how much was sent: when it comes again, all of it is sent.
  public mutating func forget(_ key: String) {
    if stages.removeValue(forKey: key) != nil { keys.removeAll { $0 == key } }
  }

  private mutating func note(_ stage: Stage, _ key: String) {
    if stages.updateValue(stage, forKey: key) == nil { keys.append(key) }
    if keys.count > maximum { stages[keys.removeFirst()] = nil }
  }
}
