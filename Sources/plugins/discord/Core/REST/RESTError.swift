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
  var asDeliveryFailure: DeliveryFailure {
    switch self {
    case .refused(let status, let code, let words):
      switch status {
      case 401: .unauthorized("Discord refuses the token")
      case 403: .forbidden("Discord: \(words) (\(code ?? status))")
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
