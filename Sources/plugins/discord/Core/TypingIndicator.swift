internal import RelayTransport

/// Shows that the bot is typing for as long as it is, which Discord shows for ten seconds at a time and ends with each
/// message.
actor TypingIndicator {
  private static let renewal: Duration = .seconds(8)

  private let rest: RESTClient
  private var tasks: [String: Task<Void, Never>] = [:]

  init(_ rest: RESTClient) { self.rest = rest }

  func set(_ isActive: Bool, in channel: String) {
    guard isActive else {
      tasks.removeValue(forKey: channel)?.cancel()
      return
    }
    guard tasks[channel] == nil else { return }
    begin(channel)
  }

  /// A message has been sent, which ends what Discord shows.
  func interrupted(in channel: String) {
    guard let task = tasks.removeValue(forKey: channel) else { return }
    task.cancel()
    begin(channel)
  }

  func end() {
    for task in tasks.values { task.cancel() }
    tasks = [:]
  }

  private func begin(_ channel: String) {
    tasks[channel] = Task { [rest] in
      repeat {
        // Not shown is no loss, and is tried again soon.
        _ = try? await rest.ask(.typing(in: channel))
      } while (try? await LoopClock.shared.sleep(for: Self.renewal)) != nil
    }
  }
}
