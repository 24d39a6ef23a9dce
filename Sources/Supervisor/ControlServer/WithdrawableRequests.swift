internal import RelayConcurrency
internal import RelayWire

/// The requests of one connection that wait for a person: each is carried out until it is answered, taken back, or its
/// connection ends.
final class WithdrawableRequests: Sendable {
  /// A mailbox that is closed ends the request.
  private let open = Locked<[RequestID: Mailbox<Void>]>([:])

  /// Knows a request from now on, before it is carried out: the next line of the connection may take it back.
  ///
  /// - Returns: carries out the request; must be called.
  func admit(_ id: RequestID, _ body: @escaping @Sendable () async -> Void) -> @Sendable () async -> Void {
    let end = Mailbox<Void>()
    open.withLock { $0[id] = end }
    return { [self] in
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await body() }
        group.addTask { _ = await end.next() }
        await group.next()
        group.cancelAll()
      }
      open.withLock { _ = $0.removeValue(forKey: id) }
    }
  }

  /// Cancels a request, if it is one of these.
  func withdraw(_ id: RequestID) { open.withLock { $0[id] }?.close() }

  /// The connection has ended.
  func withdrawAll() { for end in open.withLock({ Array($0.values) }) { end.close() } }
}
