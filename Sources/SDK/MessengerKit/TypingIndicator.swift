internal import RelayTransport

/// Shows that the bot is typing, at services that show it for some seconds at a time: it is renewed for as long as it is on.
public actor TypingIndicator {
  private let renewal: Duration
  private let show: @Sendable (String) async -> Void
  private var tasks: [String: Task<Void, Never>] = [:]

  /// - Parameters:
  ///   - renewal: the time between two requests, somewhat less than the service shows the indicator for.
  ///   - show: asks the service once, for a conversation; a failure needs no handling, because the next request follows.
  public init(renewal: Duration, show: @escaping @Sendable (String) async -> Void) {
    self.renewal = renewal
    self.show = show
  }

  /// Switches the indicator on or off in a conversation.
  public func set(_ isActive: Bool, in conversation: String) {
    guard isActive else {
      tasks.removeValue(forKey: conversation)?.cancel()
      return
    }
    guard tasks[conversation] == nil else { return }
    begin(conversation)
  }

  /// Shows the indicator again at once, where it is on: a message of the bot ends it at most services.
  public func interrupted(in conversation: String) {
    guard let task = tasks.removeValue(forKey: conversation) else { return }
    task.cancel()
    begin(conversation)
  }

  /// Switches the indicator off everywhere.
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
