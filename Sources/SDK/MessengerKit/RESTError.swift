public import PluginSDK

/// The reason why a service did not do what it was asked.
public enum RESTError: Error, Equatable, Sendable {
  /// The service says no: the status, its own code for the error, and its words.
  case refused(status: Int, code: String?, String)
  /// The service takes the request only after this many seconds, longer than a request is held back here.
  case rateLimited(seconds: Double)
  /// The service has not had the request, or could not take it: another try does no harm. With the reason.
  case unreachable(String)
  /// The service may have acted on the request. With the reason.
  case unanswered(String)

  /// Reports that the same request would be refused again. A refused token (401) is none of those: a person may give another.
  public var isLasting: Bool {
    if case .refused(let status, _, _) = self { status < 500 && status != 401 } else { false }
  }

  /// The failure as the host knows it.
  ///
  /// - Parameters:
  ///   - service: its name, for the person who reads it.
  ///   - explain: the failure that a code of the service's own means, with what to do about it; `nil` where the status and the
  ///     service's words say enough.
  public func deliveryFailure(
    at service: String, explain: (String) -> DeliveryFailure? = { _ in nil }
  ) -> DeliveryFailure {
    switch self {
    case .refused(let status, let code, let words):
      if let failure = code.flatMap(explain) { return failure }
      let told = "\(service): \(words) (\(code ?? "\(status)"))"
      return switch status {
      case 401: .unauthorized("\(service) refuses the token")
      case 403: .forbidden(told)
      case 404: .notFound(told)
      case 413: .tooLarge(told)
      case 500...: .transient("\(service) answered \(status)")
      default: .invalid(told)
      }
    case .rateLimited(let seconds): return .rateLimited(retryAfter: seconds)
    case .unreachable(let why): return .transient("\(service) could not be reached: \(why)")
    case .unanswered(let why): return .unknownOutcome("\(service) did not answer: \(why)")
    }
  }
}
