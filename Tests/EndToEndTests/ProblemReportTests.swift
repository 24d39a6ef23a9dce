import CLinux
import ControlServer
import Glibc
import RelayConcurrency
import RelayHome
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
  @Suite struct ProblemReportTests {
    @Test func `a problem that is repeated is logged once, in 4 KiB at most`() async throws {
      try await RelayFixture.run { relay in
        // Few characters of many bytes: letters under heaps of accents.
        let accents = String(repeating: "e" + String(repeating: "\u{301}", count: 20_000), count: 10)
        for _ in 0..<20 { _ = try await relay.messenger.request(ProblemReport(problem: "no network: \(accents)")) }
        let shown = try #require(try await relay.plugin("fake/default")?.problem)
        #expect(shown.hasPrefix("no network: ") && shown.hasSuffix("…"))
        #expect(shown.utf8.count <= 4_096 && shown.utf8.count > 4_000, "\(shown.utf8.count)")
        for _ in 0..<20 { _ = try await relay.messenger.request(ProblemReport(problem: nil)) }
        _ = try await relay.messenger.request(ProblemReport(problem: "no power"))
        try await relay.waitForLog("fake/default: no power")
        let lines = relay.log.filter { $0.contains("fake/default: ") && !$0.contains("no power") }
        #expect(lines.count == 2 && lines.allSatisfy { $0.utf8.count < 4_300 }, "\(lines.map(\.utf8.count))")
      }
    }

    @Test func `the problem of an attached messenger is shown while it is connected`() async throws {
      try await RelayFixture.run { relay in
        let descriptor = relay_connect_unix(relay.home.socket)
        let peer = JSONRPCConnection(input: descriptor, output: fcntl(descriptor, F_DUPFD_CLOEXEC, 3))
        try peer.start()
        _ = try await peer.request(ControlAttach(client: "bridge"), within: .seconds(20))
        var requests = peer.requests.makeAsyncIterator()
        let greeting = try #require(await requests.next())
        #expect(greeting.method == InitializeRequest.method)
        greeting.reply(
          InitializeReply(
            protocolVersion: 1, name: "bridge", version: "1", kinds: [.messenger],
            capabilities: .messenger(maximumTextLength: 100)))
        _ = try await peer.request(ProblemReport(problem: "the bridge has no token"), within: .seconds(20))
        let shown = "attached/bridge: the bridge has no token"
        #expect(try await relay.status().problems.contains(shown))
        #expect(try await relay.command("doctor").output.contains { $0.contains(shown) })
        peer.close()
        try await relay.waitForStatus { !$0.problems.contains(shown) }
      }
    }
  }
}
