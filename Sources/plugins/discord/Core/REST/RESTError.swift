internal import RelayWire

/// Why Discord did not do what it was asked.
enum RESTError: Error, Equatable {
  /// Discord says no: the status, its own error code and words.
  case refused(status: Int, code: Int?, String)
  /// Longer than a request is held back here.
  case rateLimited(seconds: Double)
  /// The address is blocked: no words of Discord's own came.
  case blocked
  /// Discord has not seen the request, or could not take it.
  case unreachable(String)
  /// Discord may have acted on it.
  case unanswered(String)

  /// As the host knows failures.
  /// What a refusal means to who reads it.
  ///
  /// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json-json-error-codes
  private static func explained(_ code: Int?) -> String? {
    switch code {
    case 50_001: "the bot may not see this channel (50001); pi-relayd doctor says which permissions are missing"
    case 50_007:
      "Discord does not let the bot write to this person (50007): they share no server with it, have switched direct "
        + "messages of its members off, or have blocked it"
    case 50_013: "the bot lacks a permission here (50013); pi-relayd doctor says which"
    default: nil
    }
  }

  var asDeliveryFailure: DeliveryFailure {
    switch self {
    case .refused(let status, let code, let words):
      switch status {
      case 401: .unauthorized("Discord refuses the token")
      case 403: .forbidden(Self.explained(code) ?? "Discord: \(words) (\(code ?? status))")
      case 404: .notFound("Discord: \(words) (\(code ?? status))")
      case 413: .tooLarge("Discord: \(words) (\(code ?? status))")
      case 500...: .transient("Discord answered \(status)")
      default: .invalid("Discord: \(words) (\(code ?? status))")
      }
    case .rateLimited(let seconds): .rateLimited(retryAfter: seconds)
    case .blocked: .rateLimited(retryAfter: 300)
    case .unreachable(let why): .transient("Discord could not be reached: \(why)")
    case .unanswered(let why): .unknownOutcome("Discord did not answer: \(why)")
    }
  }
}
