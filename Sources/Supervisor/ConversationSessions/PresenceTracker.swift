package import Conversations
package import Logging
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayLogging
internal import RelayModel
package import RelayText
internal import RelayWire
package import SessionCatalog

/// The activity that each messenger's bot shows. Everybody sees it, so it names only sessions that everybody may address: the
/// one that the messenger's conversations watch where there is just one, otherwise their number.
package actor PresenceTracker {
  /// The activity of a messenger, as far as it was sent to the present process.
  private struct Activity {
    let link: PluginConnection
    /// `nil` when nothing was sent, and the shown activity is unknown.
    var told: String??
    /// Something has changed since the last look.
    var isStale = false
    var isBeingTold = false
  }

  private let sessions: SessionRegistry
  private let directory: ConversationDirectory
  private let subscriptions: SessionSubscriptions
  private let redaction: Redactor
  private let logger: Logger
  private var activities: [String: Activity] = [:]
  private let isScheduled = Locked(false)

  /// Of the longest name and the longest model, in characters.
  private static let maximumActivityLength = 132

  package init(
    sessions: SessionRegistry, directory: ConversationDirectory, subscriptions: SessionSubscriptions,
    redaction: Redactor,
    logger: Logger
  ) {
    self.sessions = sessions
    self.directory = directory
    self.subscriptions = subscriptions
    self.redaction = redaction
    self.logger = logger
  }

  /// Looks again soon, once for changes that come together: a start brings thousands.
  package nonisolated func scheduleUpdate() {
    let isFirst = isScheduled.withLock { isScheduled in
      defer { isScheduled = true }
      return !isScheduled
    }
    guard isFirst else { return }
    directory.taskScope.add { [self] in
      isScheduled.withLock { $0 = false }
      await update()
    }
  }

  /// Looks again which activity each messenger's bot is to show.
  package func update() {
    for link in directory.links where link.capabilities.presence == true {
      if activities[link.name]?.link !== link { activities[link.name] = Activity(link: link) }
      activities[link.name]?.isStale = true
      guard activities[link.name]?.isBeingTold == false else { continue }
      activities[link.name]?.isBeingTold = true
      directory.taskScope.add { [self] in await tell(link) }
    }
  }

  /// Sends one activity at a time to each messenger, so that the last one sent is the current one.
  private func tell(_ link: PluginConnection) async {
    while activities[link.name]?.link === link, activities[link.name]?.isStale == true {
      activities[link.name]?.isStale = false
      let text = await activity(of: link.name)
      if let told = activities[link.name]?.told, told == text { continue }
      do {
        _ = try await link.request(PresenceSet(text: text))
        if activities[link.name]?.link === link { activities[link.name]?.told = .some(text) }
      } catch {
        logger.with("instance", link.name).warning("its presence could not be set: \(error)")
      }
    }
    if activities[link.name]?.link === link { activities[link.name]?.isBeingTold = false }
  }

  private func activity(of instance: String) async -> String? {
    let watched = subscriptions.sessions(watchedFrom: instance)
    let sessions = AddressableSessions(from: nil, among: await sessions.all()).sessions.filter {
      watched.contains($0.id)
    }
    guard sessions.count == 1 else { return sessions.isEmpty ? nil : "\(sessions.count) sessions" }
    let status = await sessions[0].status()
    return redaction.line(status.name + (status.model.map { " (\($0))" } ?? ""), limit: Self.maximumActivityLength)
  }
}
