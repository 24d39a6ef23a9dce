internal import AgentRuntime
internal import PiRPC
internal import RelayPipes

/// The figures that a running agent has of its session: none while it sleeps, or where it does not answer soon.
struct AgentFigures: Sendable, Equatable {
  var thinkingLevel: String?
  var stats: PiSessionStats?

  /// A line each for the context and for what was used.
  var lines: [String] {
    guard let stats else { return [] }
    var lines: [String] = []
    if let context = stats.contextUsage, let tokens = context.tokens {
      let window = context.contextWindow.map { " of \(Self.short($0))" } ?? ""
      let percent = context.percent.map { " (\(Self.decimal($0, places: 1)) %)" } ?? ""
      lines.append("Context: \(Self.short(tokens))\(window) tokens\(percent)")
    }
    let cached = stats.tokens.cacheRead.flatMap { $0 > 0 ? " and \(Self.short($0)) from the cache" : nil } ?? ""
    lines.append(
      "Tokens: \(Self.short(stats.tokens.input)) in\(cached), \(Self.short(stats.tokens.output)) out; cost "
        + Self.dollars(stats.cost))
    return lines
  }

  /// `999`, `1.5k`, `128k`, `2.3M`.
  static func short(_ count: Int) -> String {
    switch count {
    case ..<1_000: "\(count)"
    case ..<999_950: decimal(Double(count) / 1_000, places: 1) + "k"
    default: decimal(Double(count) / 1_000_000, places: 1) + "M"
    }
  }

  private static func dollars(_ amount: Double) -> String {
    "$" + decimal(amount, places: amount < 1 ? 4 : 2)
  }

  /// Without zeros at its end.
  private static func decimal(_ number: Double, places: Int) -> String {
    guard number.isFinite, abs(number) < 1e12 else { return "\(number)" }
    let factor = (0..<places).reduce(1) { product, _ in product * 10 }
    let whole = Int((abs(number) * Double(factor)).rounded())
    var fraction = String(whole % factor)
    fraction = String(repeating: "0", count: places - fraction.count) + fraction
    while fraction.last == "0" { fraction.removeLast() }
    let sign = number < 0 && whole > 0 ? "-" : ""
    return sign + "\(whole / factor)" + (fraction.isEmpty ? "" : ".\(fraction)")
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
