public import PluginSDK

/// Sends of texts that the service takes in parts. A text that is not wholly sent comes again under the same key, and
/// continues where it stopped.
public actor PartwiseSends<Part: Sendable> {
  private let pause: Double
  private var progress = SendProgress<[Part]>()

  /// - Parameter pause: seconds until the host is to send the rest.
  public init(pause: Double = 5) { self.pause = pause }

  /// Sends the rest of a text.
  ///
  /// - Parameters:
  ///   - key: the host's key, which is the message's id as well.
  ///   - parts: makes the parts of the whole text, or of the given rest.
  ///   - send: sends as many parts as may go out now, and returns their number once the service has them.
  /// - Throws: errors of `send`, or `rateLimited` while a rest is left. After an unknown outcome the whole text is sent
  ///   again.
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
