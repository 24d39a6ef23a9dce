internal import AgentRuntime
internal import AgentSessions
internal import PiRPC
internal import RelayWire

/// The figures that a running agent has of its session: none while it sleeps, or where it does not answer soon.
struct AgentFigures: Sendable, Equatable {
  var thinkingLevel: String?
  var stats: PiSessionStats?

  /// A line each for the context and for what was used.
  var lines: [String] {
    guard let stats else { return [] }
    var lines: [String] = []
    if let context = stats.contextUsage, let tokens = context.tokens {
      let window = context.contextWindow.map { " of \(TokenCount($0))" } ?? ""
      let percent = context.percent.map { " (\(Figures.decimal($0, places: 1)) %)" } ?? ""
      lines.append("Context: \(TokenCount(tokens))\(window) tokens\(percent)")
    }
    let cached = stats.tokens.cacheRead.flatMap { $0 > 0 ? " and \(TokenCount($0)) from the cache" : nil } ?? ""
    lines.append(
      "Tokens: \(TokenCount(stats.tokens.input)) in\(cached), \(TokenCount(stats.tokens.output)) out; cost "
        + Self.dollars(stats.cost))
    return lines
  }

  private static func dollars(_ amount: Double) -> String {
    "$" + Figures.decimal(amount, places: amount < 1 ? 4 : 2)
  }
}

extension Session {
  /// Nobody waits for `/status` for long.
  private static let figuresLimit: Duration = .milliseconds(1_500)

  /// Asks the agent, if it is awake.
  func figures() async -> AgentFigures {
    guard let connection else { return AgentFigures() }
    // An older release does not know the command.
    async let stats = try? connection.send(.getSessionStats, within: Self.figuresLimit).data(PiSessionStats.self)
    async let state = try? connection.send(.getState, within: Self.figuresLimit).data(PiState.self)
    if let state = await state { learn(state, through: connection) }
    return AgentFigures(thinkingLevel: await state?.thinkingLevel, stats: await stats)
  }
}
