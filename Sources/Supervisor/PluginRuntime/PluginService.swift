internal import RelayConcurrency
internal import RelayTransport

/// Serves one connected process until it has ended: passes its requests on, and watches that it answers and is needed.
struct PluginService: Sendable {
  let link: PluginConnection
  let process: PluginProcess
  let audience: any PluginEventHandler
  let timeSource: TimeSource

  /// - Parameters:
  ///   - needed: called when a process that may end is needed again.
  ///   - idle: ends a process that nobody needs.
  ///   - meanwhile: runs beside the service.
  /// - Returns: the reason why the process ended.
  func run(
    needed: @escaping @Sendable () -> Void, idle: @escaping @Sendable () async -> Void,
    meanwhile: @escaping @Sendable () async -> Void
  ) async -> String {
    let silence = PluginSilence(link: link, process: process, timeSource: timeSource)
    return await withTaskGroup(of: String?.self) { group in
      // On the loop, where requests arrive: a message is on its way to the disk without another thread being woken.
      group.addTask(executorPreference: EventLoop.shared) { [self] in
        for await request in process.peer.requests {
          await audience.received(request, from: link)
        }
        // The output has ended: normally because the process has.
        return await process.explainEnd(within: .seconds(2), clock: timeSource.clock)
      }
      group.addTask {
        await meanwhile()
        await silence.watch()
        return nil
      }
      if link.isOnDemand {
        group.addTask { [self] in
          guard await silence.becomesIdle({ await audience.mayEnd(link, wake: needed) }) else { return nil }
          await idle()
          return nil
        }
      }
      var why: String?
      while why == nil, let next = await group.next() { why = next }
      group.cancelAll()
      return why ?? "unknown reason"
    }
  }
}
