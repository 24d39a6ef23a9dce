/// Changes of messages that grow. A change for which the service has no room to spare waits, and is left out when another comes
/// first. So the last change, which must be shown, finds room at once.
///
/// The host keeps the least time between two changes (`minimumEditInterval`) and begins another message where one is full; this
/// keeps the service's own limits, which only the plugin knows.
public actor GrowingEdits<Body: Sendable, Failure: Error> {
  /// The calls of the service; each gets the message and its conversation.
  public struct Service: Sendable {
    /// A message and its conversation, by the platform's ids.
    public typealias Place = (message: String, conversation: String)

    var takesRoom: @Sendable (Place) async -> Bool
    var waitsForRoom: @Sendable (Place) async -> Bool
    var change: @Sendable (Place, Body, _ isLate: Bool) async throws(Failure) -> Void

    /// - Parameters:
    ///   - takesRoom: takes room for a change that may wait, if there is some to spare now; false otherwise.
    ///   - waitsForRoom: the same as soon as there is room; false when cancelled before.
    ///   - change: makes a change for which room was taken. With `isLate` it was put off, and must not take long: the change that
    ///     must be shown waits for it.
    public init(
      takesRoom: @escaping @Sendable (Place) async -> Bool, waitsForRoom: @escaping @Sendable (Place) async -> Bool,
      change: @escaping @Sendable (Place, Body, _ isLate: Bool) async throws(Failure) -> Void
    ) {
      self.takesRoom = takesRoom
      self.waitsForRoom = waitsForRoom
      self.change = change
    }
  }

  private let service: Service
  private let log: @Sendable (Failure) -> Void
  /// The newest change of each message, where it waits.
  private var waiting: [String: Body] = [:]
  /// The change of each message that waits or is under way.
  private var tasks: [String: Task<Void, Never>] = [:]
  private var underWay: Set<String> = []

  /// - Parameter log: told of a change that was put off and failed; a later change repairs it.
  public init(_ service: Service, log: @escaping @Sendable (Failure) -> Void) {
    self.service = service
    self.log = log
  }

  /// Shows a change now, or when there is room.
  ///
  /// - Returns: false when it is put off, which the host is told by `EditReceipt.putOff`.
  /// - Throws: the error of the service, for a change that is shown now.
  public func show(_ body: Body, of message: String, in conversation: String) async throws(Failure) -> Bool {
    let place = (message, conversation)
    guard tasks[message] == nil else {
      waiting[message] = body
      return false
    }
    if await service.takesRoom(place) {
      try await service.change(place, body, false)
      return true
    }
    waiting[message] = body
    tasks[message] = Task { await showLater(place) }
    return false
  }

  private func showLater(_ place: Service.Place) async {
    let message = place.message
    defer { tasks[message] = nil }
    while waiting[message] != nil, await service.waitsForRoom(place), let body = waiting.removeValue(forKey: message) {
      underWay.insert(message)
      do throws(Failure) { try await service.change(place, body, true) } catch { log(error) }
      underWay.remove(message)
    }
  }

  /// Drops the change of a message that waits, and returns when the change in progress has ended: before the message's last change
  /// or its deletion.
  public func settle(_ message: String) async {
    waiting[message] = nil
    guard let task = tasks[message] else { return }
    if !underWay.contains(message) { task.cancel() }
    await task.value
  }
}
