import BridgeProtocol
import Glibc
import TestSupport
import Testing

@testable import Bridge

@Suite struct EventJournalTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/7.jsonl" }

  init() throws { folder = try TemporaryFolder() }

  private func limits(_ change: (inout BridgeLimits) -> Void = { _ in }) -> BridgeLimits {
    var limits = BridgeLimits()
    change(&limits)
    return limits
  }

  private func append(_ journal: EventJournal, _ event: String, _ data: String, time: Int64 = 1_000) throws {
    _ = try Array(data.utf8).withUnsafeBytes { try journal.append(event, time: time, $0) }
  }

  private func texts(_ journal: EventJournal) throws -> [String] {
    try journal.entries().compactMap { entry in
      try journal.record(entry).map { String(decoding: $0.data, as: UTF8.self) }
    }
  }

  private func firstRecord(of journal: EventJournal) throws -> EventJournal.Record {
    let entry = try #require(try journal.entries().first)
    return try #require(try journal.record(entry))
  }

  @Test func `events are kept whole, in order, each with its number, name and time`() throws {
    let journal = EventJournal(path: path, limits: limits())
    try append(journal, "agent_start", #"{"type":"agent_start"}"#, time: 5)
    try append(journal, "input", #"{"text":"hé\n"}"#, time: 6)
    try journal.flush()
    let entries = try journal.entries()
    #expect(entries.map(\.ref) == [1, 2])
    #expect(entries.map(\.event) == ["agent_start", "input"])
    #expect(entries.map(\.time) == [5, 6])
    #expect(try texts(journal) == [#"{"type":"agent_start"}"#, #"{"text":"hé\n"}"#])
  }

  @Test func `the file is private`() throws {
    let journal = EventJournal(path: path, limits: limits())
    try append(journal, "a", "{}")
    try journal.flush()
    var status = stat()
    #expect(stat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
  }

  @Test func `the next program continues the file and its numbers`() throws {
    do {
      let journal = EventJournal(path: path, limits: limits())
      try append(journal, "first", "{}")
      try journal.flush()
    }
    let journal = EventJournal(path: path, limits: limits())
    try append(journal, "second", "{}")
    try journal.flush()
    #expect(try journal.entries().map(\.event) == ["first", "second"])
    #expect(try journal.entries().map(\.ref) == [1, 2])
  }

  @Test func `the file holds twice the events of the history at most, and the newest stay`() throws {
    let journal = EventJournal(path: path, limits: limits { $0.historyLimit = 5 })
    for number in 1...23 {
      try append(journal, "e", #"{"n":\#(number)}"#)
      try journal.flush()
      #expect(try journal.entries().count <= 10)
    }
    #expect(try texts(journal).suffix(5) == (19...23).map { #"{"n":\#($0)}"# })
  }

  @Test func `the file has no more bytes than it may, and the newest event stays`() throws {
    let journal = EventJournal(path: path, limits: limits { $0.maxRawSpillBytes = 4_000 })
    for number in 1...50 {
      try append(journal, "e", #"{"n":\#(number),"text":"\#(String(repeating: "x", count: 300))"}"#)
      try journal.flush()
      var status = stat()
      #expect(stat(path, &status) == 0)
      #expect(status.st_size <= 4_000)
    }
    #expect(try journal.entries().last?.ref == 50)
    // Half of the file stays each time it is full.
    #expect(try journal.entries().count >= 4)
  }

  @Test func `of an event that is too large for the file a summary is kept, and the reason`() throws {
    let journal = EventJournal(path: path, limits: limits { $0.maxRawSpillBytes = 4_000 })
    let text = String(repeating: "x", count: 2_000)
    try append(journal, "tool_execution_end", #"{"toolName":"bash","result":"\#(text)"}"#)
    try journal.flush()
    let record = try firstRecord(of: journal)
    #expect(record.isSummary)
    #expect(record.originalBytes == 2_031)
    #expect(record.problem?.contains("2031 bytes") == true)
    #expect(String(decoding: record.data, as: UTF8.self).contains(#""resultBytes":2000"#))
  }

  @Test func `only summaries are kept where whole events are not wanted`() throws {
    let journal = EventJournal(path: path, limits: limits { $0.spillRawEvents = false })
    try append(journal, "input", #"{"text":"hello","source":"rpc"}"#)
    try journal.flush()
    let record = try firstRecord(of: journal)
    #expect(record.isSummary)
    #expect(String(decoding: record.data, as: UTF8.self).contains(#""textPreview":"hello""#))
  }

  @Test func `a file that others have changed is no reason to give them for events`() throws {
    let journal = EventJournal(path: path, limits: limits())
    try append(journal, "a", #"{"text":"aaaa"}"#)
    try journal.flush()
    let entry = try #require(try journal.entries().first)
    try folder.write("other", String(repeating: "junk\n", count: 100))
    #expect(truncate(path, 0) == 0)
    #expect(try journal.record(entry) == nil)
    #expect(try journal.entries().isEmpty)
  }

  @Test func `a link in the place of the file is not followed`() throws {
    let target = try folder.write("target", "untouched")
    #expect(symlink(target, path) == 0)
    let journal = EventJournal(path: path, limits: limits())
    #expect(throws: (any Error).self) { try append(journal, "a", "{}") }
    #expect(folder.read("target") == "untouched")
  }
}
