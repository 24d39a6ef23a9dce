public import PluginSDK

/// Sends of texts that the service takes in parts and not all at once. The host sends the rest again under the same key, and the
/// send continues where it was.
public actor PartwiseSends<Part: Sendable> {
  private let pause: Double
  private var progress = SendProgress<[Part]>()

  /// - Parameter pause: the seconds after which the host is asked to send the rest.
  public init(pause: Double = 5) { self.pause = pause }

  /// Sends the rest of a text.
  ///
  /// - Parameters:
  ///   - key: the host's key, which becomes the message's id.
  ///   - parts: makes the parts of the whole text, or of the rest that is given.
  ///   - send: sends as many parts as may go out now, and returns how many once the service has them.
  /// - Returns: the receipt, once all parts are sent; the same for a key that is done.
  /// - Throws: the error of `send`, or `DeliveryFailure.rateLimited` while a rest is left. After `unknownOutcome` a send under the
  ///   same key begins with the first part again.
  public func send(
    _ key: String, _ parts: @Sendable (_ rest: [Part]?) -> [Part],
    by send: @Sendable ([Part]) async throws -> Int
  ) async throws -> Receipt {
    if let receipt = progress.receipt(of: key) { return receipt }
    var rest = parts(progress.rest(of: key))
    if !rest.isEmpty {
      do {
        rest.removeFirst(try await send(rest))
      } catch DeliveryFailure.unknownOutcome(let why) {
        // The host marks it as a possible repeat.
        progress.forget(key)
        throw DeliveryFailure.unknownOutcome(why)
      }
      progress.sent(key, but: rest)
      guard rest.isEmpty else { throw DeliveryFailure.rateLimited(retryAfter: pause) }
    }
    let receipt = Receipt(message: key)
    progress.finish(key, receipt)
    return receipt
  }
}
