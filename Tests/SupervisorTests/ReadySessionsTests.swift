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
    ready.confirm("s", second)
    let claim = ready.take("s")
    #expect(claim?.message == first && claim?.last == "e1" && claim?.isStored == false)
    #expect(ready.take("s") == nil)
  }

  @Test func `a claim outlasts whatever happens in the session until it is taken`() {
    ready.ready("s", after: "e1")
    _ = ready.claim("s", for: first)
    ready.confirm("s", first)
    ready.notReady("s")
    #expect(ready.hasClaim("s", first))
    ready.ready("s", after: "e2")
    #expect(ready.claim("s", for: second) == nil)
    // What is stored of the first says e1.
    let claim = ready.take("s")
    #expect(claim?.last == "e1" && claim?.isStored == true)
    // Nothing more is claimed before the session is ready again; and what comes late to say that it is stored is too late.
    #expect(ready.claim("s", for: second) == nil)
    ready.confirm("s", first)
    #expect(!ready.hasClaim("s", first) && ready.take("s") == nil)
  }

  @Test func `a claim is put back where nothing was given`() throws {
    ready.ready("s", after: "e1")
    _ = ready.claim("s", for: first)
    ready.confirm("s", first)
    let claim = try #require(ready.take("s"))
    ready.putBack(claim, of: "s")
    #expect(ready.take("s") == claim)
  }

  @Test func `where something waits nothing is claimed`() {
    ready.ready("s", after: "e1")
    ready.notReady("s")
    #expect(ready.claim("s", for: first) == nil)
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
