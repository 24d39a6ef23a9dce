internal import RelayPipes
internal import RelayWire

// A service that runs on demand is ended while nobody needs it.
extension PluginInstance {
  /// Ends a plugin that has had nothing to do for a while. Returns when that has been done, or this is cancelled.
  func endWhenIdle(_ link: PluginLink, _ life: Life) async {
    let timekeeper = surroundings.timekeeper
    while !Task.isCancelled {
      let quiet = link.silence
      guard quiet >= Self.idleLimit, !link.awaitsAnswers else {
        let rest = link.awaitsAnswers ? Self.idleLimit : Self.idleLimit - quiet
        guard await timekeeper.sleep(for: rest) else { return }
        continue
      }
      // Nobody finds it from here on; somebody may have found it before.
      await surroundings.audience.disconnected(link)
      if !link.awaitsAnswers, !stopping, !replacing {
        isFallingAsleep = true
        return await end(life, reason: "idle")
      }
      await surroundings.audience.connected(link)
      guard await timekeeper.sleep(for: Self.idleLimit) else { return }
    }
  }

  /// Whether the life that has ended did so because nobody needed it.
  func takeFallingAsleep() -> Bool {
    defer { isFallingAsleep = false }
    return isFallingAsleep && !stopping && !replacing
  }

  /// Waits until it is needed, or anything else is wished of it.
  func sleep(_ link: PluginLink) async {
    // Left over from wishes that have been fulfilled.
    wakes.drain()
    guard !stopping, !replacing else { return }
    enter(.asleep)
    let wakes = wakes
    await surroundings.audience.fellAsleep(link) { wakes.post(()) }
    _ = await wakes.next()
    if stopping { await surroundings.audience.disconnected(link) }
  }
}
