import Testing

@testable import AgentRuntime

@Suite(.timeLimit(.minutes(1))) struct AgentSlotsTests {
  @Test func `a slot that is given back twice admits one more and not two`() async throws {
    let places = AgentSlots(maximum: 8, maximumStarting: 1)
    let first = try await places.enter(SlotRequest())
    await first.started()
    // The session is closed while it starts: every holder gives its slot back.
    await first.started()
    await first.release()
    await first.release()
    _ = try await places.enter(SlotRequest())
    #expect(await places.startingCount == 1)
  }

  @Test func `a request that is cancelled before it waits is refused at once`() async throws {
    let places = AgentSlots(maximum: 1, maximumStarting: 1)
    let first = try await places.enter(SlotRequest())
    let request = SlotRequest()
    request.cancel()
    await #expect(throws: AgentUnavailable.self) { try await places.enter(request) }
    await first.release()
    _ = try await places.enter(SlotRequest())
  }

  @Test func `a cancelled request passes its wake on to the next one`() async throws {
    let places = AgentSlots(maximum: 1, maximumStarting: 1)
    let first = try await places.enter(SlotRequest())
    let (cancelled, waits) = (SlotRequest(), SlotRequest())
    let refused = Task { try await places.enter(cancelled) }
    while await places.waitingCount < 1 { await Task.yield() }
    let slot = Task { try await places.enter(waits) }
    while await places.waitingCount < 2 { await Task.yield() }
    cancelled.cancel()
    await first.release()
    await #expect(throws: AgentUnavailable.self) { try await refused.value }
    try await slot.value.release()
  }
}
