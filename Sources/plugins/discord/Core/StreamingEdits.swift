internal import RelayWire

/// Changes of messages that grow. Each is replaced by the next: one for which Discord has no room to spare waits for it, and is
/// left out when another comes first. So the last one, which must be shown, finds room at once.
actor StreamingEdits {
  /// For one that was put off: what must be shown waits for it.
  private static let patience: Duration = .seconds(5)

  private let rest: RESTClient
  private let log: @Sendable (String) -> Void
  /// The newest change of each message, where it waits.
  private var waiting: [String: JSONValue] = [:]
  /// One for each message of which a change waits or is under way.
  private var tasks: [String: Task<Void, Never>] = [:]
  private var underWay: Set<String> = []

  init(_ rest: RESTClient, log: @escaping @Sendable (String) -> Void) {
    self.rest = rest
    self.log = log
  }

  /// Shows a change, or sees to it that it is shown when there is room.
  ///
  /// - Returns: false when it is put off.
  func show(_ body: JSONValue, of message: String, in channel: String) async throws(RESTError) -> Bool {
    let route = Route.editMessage(message, in: channel)
    guard tasks[message] == nil else {
      waiting[message] = body
      return false
    }
    if await rest.takesRoomToSpare(for: route) {
      try await rest.ask(route, body, isCounted: true)
      return true
    }
    waiting[message] = body
    tasks[message] = Task { await showLater(message, route) }
    return false
  }

  private func showLater(_ message: String, _ route: Route) async {
    defer { tasks[message] = nil }
    while waiting[message] != nil, await rest.waitsForRoomToSpare(for: route),
      let body = waiting.removeValue(forKey: message)
    {
      underWay.insert(message)
      do throws(RESTError) {
        try await rest.ask(route, body, within: Self.patience, isCounted: true)
      } catch {
        // What follows it says how the message is.
        log("a growing message could not be changed: \(error.asDeliveryFailure.wireError.message)")
      }
      underWay.remove(message)
    }
  }

  /// Something else is to be done with the message: what waits is left out, and what is under way comes before it.
  func settle(_ message: String) async {
    waiting[message] = nil
    guard let task = tasks[message] else { return }
    if !underWay.contains(message) { task.cancel() }
    await task.value
  }
}
