internal import RelayWire

/// Asks a plugin that is tried, and judges its answers; the checks that every plugin passes.
struct ConformanceAsking: Sendable {
  let subject: ConformanceSubject

  /// - Parameter judge: returns the fault of a result.
  /// - Returns: the fault; `nil` when there is none.
  func ask<Request: WireRequest>(
    _ request: Request, _ judge: (Request.Reply) -> String? = { _ in nil }
  ) async throws -> String? {
    switch try await subject.answer(to: request) {
    case .result(let result): judge(result)
    case .refused(let refusal): "\(Request.method) failed with \(refusal.code.rawValue): \(refusal.message)"
    case .unreadable(let problem): problem
    }
  }

  /// Its silence leaves nothing that could be tried.
  var firstCheck: ConformanceSuite.Check {
    .init("answers ping", .ending, of: Ping.method) { try await self.ask(Ping()) }
  }

  var basicChecks: [ConformanceSuite.Check] {
    [
      .init("answers an unknown method with -32601", .lines) { try await self.expectMethodNotFound() },
      .init("ignores unknown fields", .lines) { try await self.ask(PingWithMore(somethingNew: "a")) },
      .init("ignores a notification", .lines) {
        try self.subject.notify(Unknown.method)
        return try await self.ask(Ping())
      },
      .init("answers 20 requests sent at once", .lines) { try await self.expectAllAnswered() },
      .init("reads a line of 1 MiB", .lines) {
        try await self.ask(PingWithMore(somethingNew: String(repeating: "long ", count: 210_000)))
      },
    ]
  }

  private struct Unknown: WireRequest {
    static let method = "no.such.method"
    typealias Reply = Empty
  }

  private struct PingWithMore: WireRequest {
    static let method = Ping.method
    typealias Reply = Empty
    var somethingNew: String
  }

  private func expectMethodNotFound() async throws -> String? {
    switch try await subject.answer(to: Unknown()) {
    case .result, .unreadable: "it answered with a result"
    case .refused(let refusal):
      refusal.code == .methodNotFound ? nil : "it answered with code \(refusal.code.rawValue)"
    }
  }

  private func expectAllAnswered() async throws -> String? {
    try await withThrowingTaskGroup(of: String?.self) { group in
      for _ in 0..<20 { group.addTask { try await ask(Ping()) } }
      var problem: String?
      for try await one in group { problem = problem ?? one }
      return problem
    }
  }
}
