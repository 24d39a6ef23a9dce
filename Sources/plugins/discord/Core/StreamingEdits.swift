internal import RelayWire

/// Changes of messages that grow. Each is replaced by the next: one for which Discord has no room to spare waits for it, and is
/// left out when another comes first. So the last one, which must be shown, finds room at once.
actor StreamingEdits {
  private let rest: RESTClient
  private let log: @Sendable (String) -> Void
  /// The newest change of each message, where it waits.
  private var waiting: [String: JSONValue] = [:]
  private var tasks: [String: Task<Void, Never>] = [:]

  init(_ rest: RESTClient, log: @escaping @Sendable (String) -> Void) {
    self.rest = rest
    self.log = log
  }

  /// Shows a change, or sees to it that it is shown when there is room.
  func show(_ body: JSONValue, of message: String, in channel: String) async throws(RESTError) {
    let route = Route.editMessage(message, in: channel)
    guard waiting[message] == nil else {
      waiting[message] = body
      return
    }
    if await rest.takesRoomToSpare(for: route) {
      try await rest.ask(route, body, isCounted: true)
      return
    }
    waiting[message] = body
    tasks[message] = Task { await showLater(message, route) }
  }

  private func showLater(_ message: String, _ route: Route) async {
    defer { tasks[message] = nil }
    guard await rest.waitsForRoomToSpare(for: route), let body = waiting.removeValue(forKey: message) else { return }
    do throws(RESTError) {
      try await rest.ask(route, body, isCounted: true)
    } catch {
      // What follows it says how the message is.
      log("a growing message could not be changed: \(error.asDeliveryFailure.wireError.message)")
    }
  }

  /// Something else is to be done with the message: what waits is left out, and what is under way comes before it.
  func settle(_ message: String) async {
    let isWaiting = waiting.removeValue(forKey: message) != nil
    guard let task = tasks[message] else { return }
    if isWaiting { task.cancel() }
    await task.value
  }
}
