package import PiRPC

extension PiConnection {
  package enum Incoming: Sendable {
    /// Deltas since the last item, joined.
    case text(String)
    case event(PiEvent)
    /// An answer, for whoever asked: in its place among the events, so that who hears it knows what came before.
    case answer(Answer)
    /// Output has ended; nothing follows.
    case end
  }

  package struct Answer: Sendable {
    let response: PiResponse
    let continuation: CheckedContinuation<PiResponse, any Error>

    package func deliver() { continuation.resume(returning: response) }
    func drop() { continuation.resume(throwing: PiError.ended) }
  }
}
