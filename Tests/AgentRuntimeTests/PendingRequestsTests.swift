import Testing

@testable import AgentRuntime
@testable import PiRPC

@Suite struct PendingRequestsTests {
  private var requests = PendingRequests<Int>()

  private func answer(_ id: String?, _ command: String?) -> PiResponse {
    PiResponse(id: id, command: command, success: false, error: nil, line: [])
  }

  private mutating func send(_ command: String, _ waiter: Int) -> String {
    let id = requests.makeID()
    let isAdded = requests.add(id, command: command, waiter)
    #expect(isAdded)
    return id
  }

  @Test mutating func `an answer goes to the waiter of its id, once`() {
    let first = send("prompt", 1)
    let second = send("prompt", 2)
    #expect([first, second] == ["relay-1", "relay-2"])
    #expect(requests.take(answeredBy: answer(second, "prompt")) == 2)
    #expect(requests.take(answeredBy: answer(second, "prompt")) == nil)
    #expect(requests.take(answeredBy: answer(first, "prompt")) == 1)
    #expect(requests.isEmpty)
  }

  @Test(arguments: [("abort", 2), ("parse", 1), (nil, 1), ("prompt", 1), ("get_state", nil)] as [(String?, Int?)])
  mutating func `an answer without an id goes to the oldest command that it fits`(command: String?, waiter: Int?) {
    _ = send("prompt", 1)
    _ = send("abort", 2)
    _ = send("prompt", 3)
    #expect(requests.take(answeredBy: answer(nil, command)) == waiter)
  }

  @Test mutating func `a command that was given up gets no answer, and none of another's without an id`() {
    let first = send("prompt", 1)
    _ = send("prompt", 2)
    #expect(requests.take(first) == 1)
    #expect(requests.take(first) == nil)
    #expect(requests.take(answeredBy: answer(first, "prompt")) == nil)
    #expect(requests.take(answeredBy: answer(nil, "prompt")) == 2)
  }

  @Test mutating func `the end of the output takes every waiter, and admits none`() {
    _ = send("prompt", 1)
    _ = send("abort", 2)
    let left = requests.end().sorted()
    #expect(left == [1, 2])
    #expect(requests.isEmpty && requests.hasEnded)
    let isAdded = requests.add("relay-3", command: "abort", 3)
    #expect(!isAdded)
    #expect(requests.take(answeredBy: answer(nil, "abort")) == nil)
  }

  @Test mutating func `ids continue those of an earlier program`() {
    requests = PendingRequests(nextID: 1_000_001)
    #expect(requests.makeID() == "relay-1000001")
    #expect(requests.nextID == 1_000_002)
  }
}
