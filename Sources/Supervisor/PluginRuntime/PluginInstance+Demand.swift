internal import RelayConcurrency
internal import RelayModel
internal import RelayTransport
internal import RelayWire

// A service that runs on demand is ended while nobody needs it.
extension PluginInstance {
  /// Ends a plugin that has had nothing to do for a while. Returns when that has been done, or this is cancelled.
  func endWhenIdle(_ link: PluginLink, _ life: Life) async {
    let timekeeper = dependencies.timekeeper
    while !Task.isCancelled {
      let quiet = link.silence
      guard quiet >= Self.idleLimit, !link.awaitsAnswers else {
        let rest = link.awaitsAnswers ? Self.idleLimit : Self.idleLimit - quiet
        guard await timekeeper.sleep(for: rest) else { return }
        continue
      }
      // Left over from wishes that have been fulfilled. From here on it may be called, before it has ended even.
      wakes.drain()
      guard await dependencies.audience.mayEnd(link, wake: { [wakes] in wakes.post(()) }) else {
        guard await timekeeper.sleep(for: Self.idleLimit) else { return }
        continue
      }
      guard !stopping, !replacing else { return }
      isFallingAsleep = true
      return await end(life, reason: "idle")
    }
  }

  /// Whether the life that has ended did so because nobody needed it.
  func takeFallingAsleep() -> Bool {
    defer { isFallingAsleep = false }
    return isFallingAsleep && !stopping && !replacing
  }

  /// Waits until it is needed, or anything else is wished of it.
  func sleep(_ link: PluginLink) async {
    if link.hasWorked { forgetFailures() }
    enter(.asleep)
    _ = await wakes.next()
    if stopping { await dependencies.audience.disconnected(link) }
  }
}
