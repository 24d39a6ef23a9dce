import TestSupport
import Testing

extension EndToEnd.Messengers {
  @Suite(.enabled(if: PythonServer.isThere, "scripts/setup-peers"))
  struct FakeDiscordTests {
    @Test func `discord.py, an independent client, works with the fake Discord`() async throws {
      try await PythonServer.run("fake-discord", script: "fidelity.py", with: PythonServer.python) { client in
        let held = await client.wait { $0.contains("everything held") ? true : nil }
        #expect(held == true, "\(client.printed.suffix(20))")
      }
    }
  }
}
