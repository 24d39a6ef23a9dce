internal import AgentSessions
internal import Conversations
internal import MessageDelivery
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayModel
internal import RelayStore
internal import RelayText
internal import RelayTransport
internal import RelayWire

// The activity that a messenger's bot shows. Everybody sees it, so it names only what everybody may address: the
// session that the messenger's conversations watch where that is one, otherwise how many there are.
extension Router {
  /// The activity of a messenger, as far as its present process has been told.
  struct Activity {
    let link: PluginLink
    /// `nil`: nothing has been told, and what it shows is not known.
    var told: String??
    /// Something has changed since it was looked at.
    var isStale = false
    var isBeingTold = false
  }

  /// In characters: of the longest name and the longest model.
  private static let maximumActivityLength = 132

  /// Looks again what each messenger's bot is to show.
  func showWatched() {
    for link in holders.values.compactMap(\.current) where link.capabilities.presence == true {
      if activities[link.name]?.link !== link { activities[link.name] = Activity(link: link) }
      activities[link.name]?.isStale = true
      guard activities[link.name]?.isBeingTold == false else { continue }
      activities[link.name]?.isBeingTold = true
      taskScope.add { [self] in await tellActivity(link) }
    }
  }

  /// One at a time for each messenger: the last that is told is the present one.
  private func tellActivity(_ link: PluginLink) async {
    while activities[link.name]?.link === link, activities[link.name]?.isStale == true {
      activities[link.name]?.isStale = false
      let text = await activity(of: link.name)
      if let told = activities[link.name]?.told, told == text { continue }
      do {
        _ = try await link.request(PresenceSet(text: text))
        if activities[link.name]?.link === link { activities[link.name]?.told = .some(text) }
      } catch {
        log("\(link.name): its presence could not be set: \(error)")
      }
    }
    if activities[link.name]?.link === link { activities[link.name]?.isBeingTold = false }
  }

  private func activity(of instance: String) async -> String? {
    let watched = watchers.sessions(watchedFrom: instance)
    let sessions = AddressableSessions(from: nil, among: await host.all()).sessions.filter { watched.contains($0.id) }
    guard sessions.count == 1 else { return sessions.isEmpty ? nil : "\(sessions.count) sessions" }
    let status = await sessions[0].status()
    return redaction.line(status.name + (status.model.map { " (\($0))" } ?? ""), limit: Self.maximumActivityLength)
  }
}
