internal import RelayConcurrency
internal import RelayTransport
internal import RelayWire

/// Reactions to the silence of a connected plugin: pings, and the end of a service that nobody needs.
struct PluginSilence: Sendable {
  let link: PluginConnection
  let process: PluginProcess
  let timeSource: TimeSource

  /// Silence after which a plugin is pinged.
  static let quietLimit: Duration = .seconds(15)
  /// Time that it has to answer a ping.
  static let pingLimit: Duration = .seconds(10)
  /// Silence after which a plugin that runs on demand is ended. Shorter than `quietLimit`: pings are heard, too.
  static let idleLimit: Duration = .seconds(10)

  /// Pings a quiet plugin; stops one that does not answer. Returns then, or when cancelled.
  func watch() async {
    while await waitForSilence(Self.quietLimit) {
      do {
        _ = try await link.request(Ping(), within: Self.pingLimit)
      } catch {
        guard !Task.isCancelled else { return }
        if case .timedOut = error {
          return process.stop(because: "it did not answer a ping within \(Self.pingLimit.forPeople)")
        }
        // Any other answer shows that the plugin works; the end of the connection is noticed elsewhere.
        guard await timeSource.sleep(for: Self.quietLimit) else { return }
      }
    }
  }

  /// Returns true as soon as the plugin has had nothing to do for a while and `mayEnd` agrees; false when cancelled.
  func becomesIdle(_ mayEnd: @Sendable () async -> Bool) async -> Bool {
    while await waitForSilence(Self.idleLimit) {
      if await mayEnd() { return true }
      guard await timeSource.sleep(for: Self.idleLimit) else { return false }
    }
    return false
  }

  /// Waits until the plugin has been silent for so long while nobody waits for its answer; false when cancelled.
  private func waitForSilence(_ limit: Duration) async -> Bool {
    while !Task.isCancelled {
      let quiet = link.silence
      if quiet >= limit, !link.awaitsAnswers { return true }
      guard await timeSource.sleep(for: link.awaitsAnswers ? limit : limit - quiet) else { return false }
    }
    return false
  }
}
