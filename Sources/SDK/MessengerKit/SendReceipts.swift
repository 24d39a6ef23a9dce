public import PluginSDK
internal import RelayConcurrency

/// Receipts of sends at a service that confirms none by itself. A question is sent behind them: once it is answered, the service has
/// had everything before it, and has said what it refuses.
public final class SendReceipts: Sendable {
  private let confirmed = PendingAnswers<Void>()
  private let underWay = Locked<[String: (place: String, refusal: DeliveryFailure?)]>([:])

  public init() {}

  /// Sends something, and asks whether the service has received it.
  ///
  /// - Parameters:
  ///   - word: the name of the question, which its answer bears.
  ///   - place: the target of the send, as the service names it in a refusal.
  ///   - service: the service's name, for the person.
  ///   - send: sends, and returns how many parts were sent.
  ///   - ask: asks the question; not called when nothing was sent.
  /// - Returns: the number that `send` returned.
  /// - Throws: the service's refusal, or `unknownOutcome` when the question has no answer within ten seconds.
  public func confirm(
    _ word: String, in place: String, at service: String, isolation: isolated (any Actor)? = #isolation,
    send: () async -> Int, ask: () -> Void
  ) async throws(DeliveryFailure) -> Int {
    underWay.withLock { $0[word] = (place, nil) }
    let count = await send()
    let isTaken: Void? = count > 0 ? await confirmed.answer(to: word, beginning: (), ask: ask) : ()
    if let refusal = underWay.withLock({ $0.removeValue(forKey: word)?.refusal }) { throw refusal }
    guard isTaken != nil else { throw .unknownOutcome("\(service): the server did not say that it has the message") }
    return count
  }

  /// Takes the answer to a question.
  public func answered(_ word: String) { confirmed.finish(word) }

  /// Takes a refusal of the service, which is that of every unconfirmed send to the place.
  public func refused(in place: String, _ failure: DeliveryFailure) {
    underWay.withLock { underWay in
      for (word, one) in underWay where one.place == place { underWay[word] = (place, failure) }
    }
  }

  /// Ends every question without an answer: the connection has ended.
  public func end() { confirmed.end() }
}
