import BridgeProtocol
import Testing

@Suite struct BridgeHistoryTests {
  private func entries(_ count: Int) -> [BridgeHistory.Entry] {
    (1...count).map { BridgeHistory.Entry(ref: $0, event: $0.isMultiple(of: 2) ? "even" : "odd", time: Int64($0)) }
  }

  @Test func `the oldest events are left out beyond the limit of bytes, long ones counted as their summaries`() {
    var limits = BridgeLimits()
    limits.maxEventBytes = 100
    limits.maxHistoryBytes = 250
    let entries = [50, 1_000, 100, 50].enumerated().map {
      BridgeHistory.Entry(ref: $0 + 1, event: "e", time: 0, length: $1)
    }
    #expect(BridgeHistory.candidates(among: entries, .init(), limits: limits).map(\.ref) == [2, 3, 4])
    limits.maxHistoryBytes = 1
    #expect(BridgeHistory.candidates(among: entries, .init(), limits: limits).map(\.ref) == [4])
  }

  @Test func `a person's settings of a bridge are taken within their ranges`() {
    var preferences = BridgePreferences()
    preferences.historyLimit = 0
    preferences.maxLineBytes = .max
    preferences.spillRawEvents = false
    let limits = BridgeLimits().with(preferences)
    #expect(limits.historyLimit == 1 && limits.maxLineBytes == 16 << 20 && !limits.spillRawEvents)
    #expect(limits.maxEventBytes == BridgeLimits().maxEventBytes && BridgeLimits().with(nil) == BridgeLimits())
  }

  private func candidates(
    _ count: Int, _ query: BridgeRequest.HistoryQuery, historyLimit: Int = 500
  ) -> [Int] {
    var limits = BridgeLimits()
    limits.historyLimit = historyLimit
    return BridgeHistory.candidates(among: entries(count), query, limits: limits).map(\.ref)
  }

  @Test func `an answer filters by name and time before it counts`() {
    #expect(candidates(10, .init(limit: 2, event: "even", since: 4)) == [8, 10])
  }

  @Test func `an answer holds no more events than the history may`() {
    #expect(candidates(10, .init(limit: 99), historyLimit: 4) == [7, 8, 9, 10])
  }

  @Test func `events that the history no longer holds are found by no filter`() {
    #expect(candidates(10, .init(event: "odd"), historyLimit: 3) == [9])
  }

  @Test func `an answer keeps the newest events that fit, and always the newest`() {
    func newest(_ maximumBytes: Int) -> ([Int], Bool) {
      BridgeHistory.newest(of: entries(10), maximumBytes: maximumBytes) { ($0.ref, 100) }
    }
    #expect(newest(250) == ([9, 10], true))
    #expect(newest(1) == ([10], true))
    #expect(newest(0) == (Array(1...10), false))
  }

  @Test func `events that the answer has no room for are not read`() {
    var read: [Int] = []
    _ = BridgeHistory.newest(of: entries(10), maximumBytes: 250) { entry in
      read.append(entry.ref)
      return (entry.ref, 100)
    }
    #expect(read == [10, 9, 8])
  }

  @Test func `an event that cannot be read is left out`() {
    let answer = BridgeHistory.newest(of: entries(3), maximumBytes: 0) { $0.ref == 2 ? nil : ($0.ref, 1) }
    #expect(answer.envelopes == [1, 3])
  }

  @Test func `an empty history gives an empty answer`() {
    #expect(BridgeHistory.candidates(among: [], .init(), limits: BridgeLimits()).isEmpty)
  }
}
