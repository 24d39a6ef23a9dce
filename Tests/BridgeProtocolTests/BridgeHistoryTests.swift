import BridgeProtocol
import Testing

@Suite struct BridgeHistoryTests {
  private func history(_ count: Int, bytes: Int = 100, limits: BridgeLimits = BridgeLimits()) -> BridgeHistory {
    var history = BridgeHistory()
    for ref in 1...count {
      _ = history.append(
        .init(ref: ref, event: ref.isMultiple(of: 2) ? "even" : "odd", time: Int64(ref), bytes: bytes), limits: limits)
    }
    return history
  }

  private func limits(_ change: (inout BridgeLimits) -> Void) -> BridgeLimits {
    var limits = BridgeLimits()
    change(&limits)
    return limits
  }

  @Test func `the oldest events are dropped when there are too many`() {
    let limits = limits { $0.historyLimit = 3 }
    var history = history(3, limits: limits)
    #expect(history.append(.init(ref: 4, event: "even", time: 4, bytes: 1), limits: limits).map(\.ref) == [1])
    #expect(history.refs == [2, 3, 4])
  }

  @Test func `the oldest events are dropped when they are too large together, and the newest is kept at any size`() {
    let limits = limits { $0.maxHistoryBytes = 250 }
    var history = history(3, limits: limits)
    #expect(history.refs == [2, 3])
    #expect(history.append(.init(ref: 4, event: "even", time: 4, bytes: 999), limits: limits).map(\.ref) == [2, 3])
    #expect(history.refs == [4])
    #expect(history.append(.init(ref: 5, event: "odd", time: 5, bytes: 10), limits: limits).map(\.ref) == [4])
  }

  @Test func `an answer filters by name and time before it counts`() {
    let history = history(10)
    let selection = history.select(.init(limit: 2, event: "even", since: 4), limits: BridgeLimits())
    #expect(selection.entries.map(\.ref) == [8, 10])
    #expect(selection.total == 2)
    #expect(!selection.isTruncated)
  }

  @Test func `an answer keeps the newest events that fit, and always the newest`() {
    let history = history(10)
    let fitting = history.select(.init(maxBytes: 250), limits: BridgeLimits())
    #expect(fitting.entries.map(\.ref) == [9, 10])
    #expect(fitting.total == 10)
    #expect(fitting.isTruncated)
    #expect(history.select(.init(maxBytes: 1), limits: BridgeLimits()).entries.map(\.ref) == [10])
  }

  @Test func `an answer holds no more events than the history may`() {
    let history = history(10)
    let selection = history.select(.init(limit: 99), limits: limits { $0.historyLimit = 4 })
    #expect(selection.entries.map(\.ref) == [7, 8, 9, 10])
  }

  @Test func `an empty history gives an empty answer`() {
    let selection = BridgeHistory().select(.init(), limits: BridgeLimits())
    #expect(selection == .init(entries: [], total: 0, isTruncated: false))
  }
}
