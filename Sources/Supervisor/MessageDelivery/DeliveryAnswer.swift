package import RelayTransport
internal import RelayWire

extension DeliveryAttempt.Answer {
  /// Maps an error of a request to its class of failure.
  package init(_ error: ConnectionError) {
    switch error {
    case .closed: self = .connectionLost
    case .timedOut: self = .timedOut
    case .unreadable: self = .unreadable("\(error)")
    case .notSent: self = .notDelivered
    case .refused(let refusal):
      switch (refusal.code, DeliveryFailure(refusal)) {
      case (.busy, _): self = .notDelivered
      case (.internalError, _): self = .failed(refusal.message)
      case (_, .transient?): self = .notDelivered
      case (_, .rateLimited(let seconds)?): self = .delayed(.seconds(seconds))
      case (_, .unknownOutcome?): self = .unconfirmed
      case (_, .notFound?): self = .gone(refusal.message)
      default: self = .refused(refusal.message)
      }
    }
  }

  /// The answer to a request that returns the message's id, or none.
  init(_ request: () async throws -> String?) async {
    do {
      self = .delivered(message: try await request())
    } catch let error as ConnectionError {
      self.init(error)
    } catch {
      self = .refused("\(error)")
    }
  }
}
