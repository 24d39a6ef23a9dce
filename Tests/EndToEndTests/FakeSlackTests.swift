import TestSupport
import Testing

extension EndToEnd.Messengers {
  @Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers"))
  struct FakeSlackTests {
    @Test func `slack-sdk and slack-bolt, independent clients, work with the fake Slack`() async throws {
      try await PythonServer.run("fake-slack", script: "fidelity.py", with: PythonServer.python) { client in
        let held = await client.wait { $0.contains("everything held") ? true : nil }
        #expect(held == true, "\(client.printed.suffix(20))")
      }
    }
  }
}
