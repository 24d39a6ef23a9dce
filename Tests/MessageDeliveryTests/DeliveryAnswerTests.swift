import RelayJSON
import RelayTransport
import RelayWire
import Testing

@testable import MessageDelivery

@Suite struct DeliveryAnswerTests {
  private static func refusal(_ kind: String) -> ConnectionError {
    .refused(WireError(.delivery, "why", data: ["kind": .string(kind), "retryAfter": 7]))
  }

  @Test(arguments: [
    (ConnectionError.closed, DeliveryAttempt.Answer.connectionLost), (.timedOut(method: "m"), .timedOut),
    (.notSent("full"), .notDelivered), (.refused(WireError(.busy, "why")), .notDelivered),
    (.refused(WireError(.internalError, "why")), .failed("why")),
    (.refused(WireError(.invalidParams, "why")), .refused("why")),
    (refusal("transient"), .notDelivered), (refusal("rate_limited"), .delayed(.seconds(7))),
    (refusal("unknown_outcome"), .unconfirmed), (refusal("not_found"), .gone("why")),
    (refusal("forbidden"), .refused("why")), (refusal("too_large"), .refused("why")),
  ])
  func `each error stands for one class of failure`(error: ConnectionError, answer: DeliveryAttempt.Answer) {
    #expect(DeliveryAttempt.Answer(error) == answer)
  }
}
