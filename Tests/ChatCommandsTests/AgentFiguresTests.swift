import FoundationEssentials
import PiRPC
import RelayJSON
import RelayWire
import Testing

@testable import ChatCommands

@Suite struct AgentFiguresTests {
  private static let transcripts = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Transcripts")

  private struct Answer: Decodable { var data: PiSessionStats }

  private func lines(of data: String) throws -> [String] {
    let stats = try JSONCoding.decode(PiSessionStats.self, from: Array(data.utf8))
    return AgentFigures(thinkingLevel: nil, stats: stats).lines
  }

  @Test(arguments: [
    ("current", ["Context: 1.5k of 20k tokens (7.5 %)", "Tokens: 2.9k in, 17 out; cost $0.003"]),
    ("cumulative", ["Tokens: 2.3k in, 17 out; cost $0.0023"]),
  ])
  func `recorded figures of pi are shown in words`(dialect: String, expected: [String]) throws {
    let file = Self.transcripts.appending(path: "\(dialect)/07-queries.jsonl")
    let recorded = [UInt8](try Data(contentsOf: file)).split(separator: 0x0A).map(Array.init)
      .filter { String(decoding: $0, as: UTF8.self).contains(#""command":"get_session_stats""#) }
    #expect(recorded.count == 2)
    let stats = try JSONCoding.decode(Answer.self, from: try #require(recorded.last)).data
    #expect(AgentFigures(thinkingLevel: nil, stats: stats).lines == expected)
  }

  @Test func `an unknown context is left out, and large numbers are shortened`() throws {
    let data = #"""
      {"tokens":{"input":12345678,"output":999999,"cacheRead":45000,"cacheWrite":0,"total":1},"cost":12.345,
       "contextUsage":{"tokens":null,"contextWindow":200000,"percent":null}}
      """#
    #expect(try lines(of: data) == ["Tokens: 12.3M in and 45k from the cache, 1M out; cost $12.35"])
    #expect(AgentFigures().lines.isEmpty)
    #expect(
      [0, 999, 1_000, 1_049, 128_000, 999_949].map { TokenCount($0).description } == [
        "0", "999", "1k", "1k", "128k", "999.9k",
      ])
  }
}
