public import PluginSDK
internal import RelayConcurrency

/// Receipts of sends at a service that confirms none by itself: a question goes out behind what is sent, and once it is answered
/// the service has had everything before it, and has said what it refuses.
public final class SendReceipts: Sendable {
  private let confirmed = PendingAnswers<Void>()
  private let underWay = Locked<[String: (place: String, refusal: DeliveryFailure?)]>([:])

  public init() {}

  /// Sends something, and asks whether the service has received it.
  ///
  /// - Parameters:
  ///   - word: the word that identifies the question.
  ///   - place: the target, as the service names it in a refusal.
  ///   - send: sends, and returns how much was sent.
  ///   - ask: asks the question, if anything was sent.
  /// - Returns: the result of `send`.
  /// - Throws: the service's refusal, or `unknownOutcome` without an answer.
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

  /// The question was answered.
  public func answered(_ word: String) { confirmed.finish(word) }

  /// The service refuses what is sent to a place.
  public func refused(in place: String, _ failure: DeliveryFailure) {
    underWay.withLock { underWay in
      for (word, one) in underWay where one.place == place { underWay[word] = (place, failure) }
    }
  }

  /// The connection has ended.
  public func end() { confirmed.end() }
}
