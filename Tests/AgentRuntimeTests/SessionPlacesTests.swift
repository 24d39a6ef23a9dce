import Testing

@testable import AgentRuntime

@Suite struct SessionPlacesTests {
  @Test func `a place that is given back twice admits one more and not two`() async throws {
    let places = SessionPlaces(maximum: 8, maximumStarting: 1)
    let first = try await places.enter("a")
    await places.started(first)
    // The session is closed while it starts: whoever notices gives everything back.
    await places.started(first)
    await places.ended(first)
    await places.ended(first)
    _ = try await places.enter("b")
    #expect(await places.startingCount == 1)
  }
}
