public import PluginSDK

/// Sends of texts that the service takes in parts, not all at once: what it does not take now comes again under the same key, and
/// goes on where it was.
public actor PartwiseSends<Part: Sendable> {
  private let pause: Double
  private var progress = SendProgress<[Part]>()

  /// - Parameter pause: seconds until the host is to send the rest.
  public init(pause: Double = 5) { self.pause = pause }

  /// Sends what is left of a text.
  ///
  /// - Parameters:
  ///   - key: the host's, which is the message's id as well.
  ///   - parts: makes the parts of the whole text, or of the rest that is given.
  ///   - send: sends as many parts as may go out now, and returns how many once the service has them.
  /// - Throws: what `send` throws, or `rateLimited` while a rest is left. After an unknown outcome all of it is sent again.
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
