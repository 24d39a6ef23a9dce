/// The answer to `get_session_stats`.
package struct PiSessionStats: Decodable, Sendable, Equatable {
  package struct Tokens: Decodable, Sendable, Equatable {
    package var input: Int
    package var output: Int
    package var cacheRead: Int?
  }

  /// Older releases leave it out. After a compaction the tokens are not known until the model has answered.
  package struct ContextUsage: Decodable, Sendable, Equatable {
    package var tokens: Int?
    package var contextWindow: Int?
    package var percent: Double?
  }

  package var tokens: Tokens
  /// In dollars.
  package var cost: Double
  package var contextUsage: ContextUsage?
}
