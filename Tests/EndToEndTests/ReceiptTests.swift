import ControlServer
import RelayJSON
import RelayModel
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Messengers {
  /// Messengers answer in their own ways: what was carried out is not done again because of its receipt.
  @Suite struct ReceiptTests {
    private static let answer = (1...30).map { _ in "word" }

    @Test(arguments: [[:], nil, "ok"] as [JSONValue?])
    func `a change that was made counts, whatever its receipt holds`(receipt: JSONValue?) async throws {
      try await RelayFixture.run { relay in
        await relay.messenger.answer(MessageEdit.method, with: receipt ?? .null)
        for number in 1...2 {
          try await relay.messenger.say("/slow 30", id: "\(number)")
          #expect(await relay.messenger.waitForOutcome(of: "\(number)") == .answered)
        }
        // A message each, whole, and none beside it.
        let texts = await relay.messenger.texts(role: .answer)
        #expect(texts.count == 2 && texts.allSatisfy { $0.split(separator: " ").count == 30 }, "\(texts)")
        let complaints = relay.log.filter { $0.contains("message.edit") }
        if receipt == [:] {
          #expect(complaints.isEmpty, "\(complaints)")
        } else {
          #expect(complaints.count == 1, "\(complaints)")
          #expect(
            complaints[0].contains(
              "fake/default: the answer to message.edit cannot be understood: result is "), "\(complaints)")
          #expect(complaints[0].hasSuffix("; expected {message?: string, putOff?: boolean}"), "\(complaints)")
        }
        #expect(relay.log.allSatisfy { !$0.contains("set aside") && !$0.contains("ended") })
        #expect(try await relay.plugin("fake/default")?.restarts == 0)
      }
    }

    @Test func `a send whose receipt names no message is not sent again, with a notice of the fault`() async throws {
      var capabilities = FakeMessenger.usual
      capabilities.idempotencyKey = nil
      try await RelayFixture.run(capabilities: capabilities) { relay in
        await relay.messenger.answer(MessageSend.method, with: [:])
        try await relay.messenger.say("/ping", id: "1")
        _ = await relay.messenger.waitForOutcome(of: "1")
        #expect(await relay.messenger.texts().count { $0.contains("The agent gave no answer") } == 1)
        let problem =
          "the answer to message.send cannot be understood: result.message is missing; expected {message: string}"
        try await relay.waitForLog("fake/default: \(problem)")
        try await relay.waitForStatus { $0.deliveries?.first?.lastFailure == problem }
        #expect(relay.log.allSatisfy { !$0.contains("ended") })
      }
    }
  }
}
