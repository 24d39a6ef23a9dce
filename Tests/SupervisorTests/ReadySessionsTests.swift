import RelayStore
import Testing

@testable import Supervisor

@Suite struct ReadySessionsTests {
  private let ready = ReadySessions()
  private let first = MessageKey(conversation: ConversationKey(instance: "fake", conversation: "c"), id: "1")
  private let second = MessageKey(conversation: ConversationKey(instance: "fake", conversation: "d"), id: "2")

  @Test func `one message has the claim`() {
    #expect(ready.claim("s", for: first) == nil)
    ready.ready("s", after: "e1")
    #expect(ready.claim("s", for: first) == "e1")
    #expect(ready.claim("s", for: second) == nil)
    #expect(ready.claim(of: "s") == ReadySessions.Claim(message: first, last: "e1"))
  }

  @Test func `a claim outlasts whatever happens in the session until it is taken`() {
    ready.ready("s", after: "e1")
    _ = ready.claim("s", for: first)
    ready.notReady("s")
    #expect(ready.hasClaim("s", first))
    ready.ready("s", after: "e2")
    // What is stored of the first says e1.
    #expect(ready.claim(of: "s")?.last == "e1")
    #expect(ready.claim("s", for: second) == nil)
    ready.take("s")
    #expect(ready.claim(of: "s") == nil)
    #expect(ready.claim("s", for: second) == nil)
  }

  @Test func `what was not stored so leaves the claim to the next`() {
    ready.ready("s", after: "e1")
    _ = ready.claim("s", for: first)
    ready.release("s", second)
    #expect(ready.hasClaim("s", first))
    ready.release("s", first)
    #expect(ready.claim("s", for: second) == "e1")
  }
}
