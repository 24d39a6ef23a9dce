import MessengerKit
import RelayConcurrency
import Testing

@Suite(.timeLimit(.minutes(1))) struct GrowingEditTests {
  /// A service with room for one change at a time, given by the test.
  private final class Service: Sendable {
    let room = Mailbox<Void>()
    let shown = Mailbox<String>()

    var edits: GrowingEdits<String, Never> {
      GrowingEdits(
        .init(
          takesRoom: { [room] _ in !room.drain().isEmpty }, waitsForRoom: { [room] _ in await room.next() != nil },
          change: { [shown] _, text, _ in _ = shown.post(text) }), log: { _ in })
    }
  }

  @Test func `a change within the limit is sent at once, one over it waits, and only the newest waiting one is sent`()
    async
  {
    let service = Service()
    let edits = service.edits
    service.room.post(())
    #expect(await edits.show("a", of: "1", in: "c"))
    #expect(await service.shown.next() == "a")
    for text in ["ab", "abc", "abcd"] { #expect(await edits.show(text, of: "1", in: "c") == false) }
    service.room.post(())
    #expect(await service.shown.next() == "abcd")
    await edits.settle("1")
    #expect(service.shown.isEmpty)
  }

  @Test func `a waiting change is dropped once the message is changed otherwise`() async {
    let service = Service()
    let edits = service.edits
    #expect(await edits.show("half", of: "1", in: "c") == false)
    await edits.settle("1")
    service.room.post(())
    #expect(await edits.show("whole", of: "1", in: "c"))
    #expect(await service.shown.next() == "whole")
  }
}
