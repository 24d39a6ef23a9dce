internal import RelayTransport

/// Shows that the bot is typing for as long as it is, by renewing what the service shows for some seconds at a time.
public actor TypingIndicator {
  private let renewal: Duration
  private let show: @Sendable (String) async -> Void
  private var tasks: [String: Task<Void, Never>] = [:]

  /// - Parameters:
  ///   - renewal: somewhat less than the time for which the service shows the indicator.
  ///   - show: shows the indicator in a conversation once; a failure does no harm, because the next renewal follows.
  public init(renewal: Duration, show: @escaping @Sendable (String) async -> Void) {
    self.renewal = renewal
    self.show = show
  }

  /// Begins or ends in a conversation.
  public func set(_ isActive: Bool, in conversation: String) {
    guard isActive else {
      tasks.removeValue(forKey: conversation)?.cancel()
      return
    }
    guard tasks[conversation] == nil else { return }
    begin(conversation)
  }

  /// Shows the indicator again after a message, which ends it at most services.
  public func interrupted(in conversation: String) {
    guard let task = tasks.removeValue(forKey: conversation) else { return }
    task.cancel()
    begin(conversation)
  }

  /// Ends everywhere.
  public func end() {
    for task in tasks.values { task.cancel() }
    tasks = [:]
  }

  private func begin(_ conversation: String) {
    tasks[conversation] = Task { [renewal, show] in
      repeat {
        await show(conversation)
      } while (try? await LoopClock.shared.sleep(for: renewal)) != nil
    }
  }
}
