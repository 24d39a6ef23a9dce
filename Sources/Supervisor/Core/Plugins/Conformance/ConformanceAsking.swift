internal import RelayPipes
internal import RelayWire

/// Asks a plugin that is tried, and judges its answers; the checks that every plugin passes.
struct ConformanceAsking: Sendable {
  let peer: Peer
  let oddities: Locked<[String]>

  /// - Parameter judge: answers what is wrong with a result.
  /// - Returns: what is wrong; nil where all is well.
  func ask<Request: WireRequest>(
    _ request: Request, _ judge: (Request.Reply) -> String? = { _ in nil }
  ) async -> String? {
    do {
      return judge(try await peer.request(request, within: ConformanceKit.answerLimit))
    } catch .refused(let refusal) {
      return "\(Request.method) failed with \(refusal.code.rawValue): \(refusal.message)"
    } catch {
      return words(for: error)
    }
  }

  /// Where no answer came, something else may have.
  func words(for error: PeerError) -> String {
    guard case .timedOut = error, let oddity = oddities.withLock({ $0.last }) else { return "\(error)" }
    return "\(error); \(oddity)"
  }

  var basicChecks: [ConformanceKit.Check] {
    [
      .init("answers ping", .ending) { await self.ask(Ping()) },
      .init("answers an unknown method with -32601", .lines) { await self.expectMethodNotFound() },
      .init("ignores unknown fields", .lines) { await self.ask(PingWithMore(somethingNew: "a")) },
      .init("answers 20 requests sent at once", .lines) { await self.expectAllAnswered() },
      .init("reads a line of 1 MiB", .lines) {
        await self.ask(PingWithMore(somethingNew: String(repeating: "long ", count: 210_000)))
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

  private func expectMethodNotFound() async -> String? {
    do {
      _ = try await peer.request(Unknown(), within: ConformanceKit.answerLimit)
      return "it answered with a result"
    } catch .refused(let refusal) {
      return refusal.code == .methodNotFound ? nil : "it answered with code \(refusal.code.rawValue)"
    } catch {
      return words(for: error)
    }
  }

  private func expectAllAnswered() async -> String? {
    await withTaskGroup(of: String?.self) { group in
      for _ in 0..<20 { group.addTask { await ask(Ping()) } }
      var problem: String?
      for await one in group { problem = problem ?? one }
      return problem
    }
  }
}
