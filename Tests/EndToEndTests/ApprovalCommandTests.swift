import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayHome
import RelayJSON
import RelayModel
import RelayStore
import TestSupport
import Testing

extension EndToEnd.Operation {
  /// Approvals on the command line, and the end of a grant.
  @Suite struct ApprovalCommandTests {
    private let requester = Requester(
      conversation: ConversationKey(instance: "fake/default", conversation: "c1"), person: "u1")

    private func fill(_ database: String) async throws {
      let store = try SQLiteStore(path: database)
      let now = Double(time(nil))
      func event(_ kind: ApprovalEvent.Kind, _ id: String, _ detail: String? = nil) -> ApprovalEvent {
        ApprovalEvent(
          kind, at: now, approval: id, session: "s", requester: requester, tool: "bash", category: "git-remote",
          rule: "push", summary: "git push", detail: detail)
      }
      try await store.record(event(.cancelled, "a_1", "the run was stopped"), keeping: 9)
      try await store.record(
        event(.persistentGrantCreated, "a_2"), keeping: 9,
        creating: ApprovalGrant(
          id: "a_2", scope: .persistent, fingerprint: "git-remote:bash:push:0", requester: requester,
          summary: "git push", createdAt: now, expiresAt: now + 3_600))
      await store.close()
    }

    @Test func `approvals are listed, and a grant is revoked, while a daemon runs`() async throws {
      try await RelayFixture.run(startsDaemon: false) { relay in
        let none = try await relay.command("approvals").output
        #expect(none == ["No tool call has waited for an approval."])
        try await fill(relay.home.database)
        func expectBoth() async throws {
          let lines = try await relay.command("approvals").output
          #expect(lines.count == 4, "\(lines)")
          #expect(lines[0].contains("  cancelled                 git-remote  bash  rule push  u1 at fake/default:c1  "))
          #expect(lines[0].hasSuffix("git push — the run was stopped"))
          #expect(lines[1].hasSuffix("git push"))
          #expect(lines[2] == "Grants for all sessions; to revoke one: pi-relayd approvals revoke ID")
          #expect(lines[3].hasPrefix("  a_2  until "))
        }
        try await expectBoth()
        let alone = try await relay.command("approvals", "revoke", "a_2")
        #expect(alone.exit == .exited(2))
        try await relay.start()
        try await expectBoth()
        let revoke = try await relay.command("approvals", "revoke", "a_2")
        #expect(revoke.output == ["a_2 is revoked: the call is asked about again."] && revoke.exit == .exited(0))
        let again = try await relay.command("approvals", "revoke", "a_2")
        #expect(again.exit == .exited(1))
        #expect(again.errors == ["pi-relayd: there is no grant a_2; pi-relayd approvals lists them"])
        let json = try await relay.command("approvals", "--json").output.joined()
        let listing = try JSONCoding.decode(JSONValue.self, from: Array(json.utf8))
        #expect(listing["grants"] == [])
        #expect(
          listing["events"]?.arrayValue?.map { $0["kind"] } == [
            "cancelled", "persistent-grant-created", "grant-revoked",
          ])
      }
    }

    @Test func `doctor names unsafe modes, which are no failure`() async throws {
      let config = """
        messengers: {fake: {default: {auth: {everyone: true}}}}
        approvals: {persistentGrants: true}

        """
      try await RelayFixture.run(config: config, sessions: "agentsReachOthers: true", startsDaemon: false) { relay in
        let doctor = try await relay.command("doctor").output
        #expect(
          doctor.contains(
            "! fake/default admits everyone, and no tool call waits for an approval: list people under auth.users, or "
              + "rules under approvals"), "\(doctor)")
        #expect(doctor.contains { $0.hasPrefix("! sessions.agentsReachOthers lets an agent look at other sessions") })
        #expect(doctor.contains { $0.hasPrefix("! approvals.persistentGrants lets a person in a chat approve") })
        let json = try await relay.command("doctor", "--json").output
        #expect(json.filter { $0.contains("\"ok\":true") && $0.contains("unsafe: ") }.count == 3, "\(json)")
      }
      let safe = """
        messengers: {fake: {default: {auth: {everyone: true}}}}
        approvals: {enabled: true, rules: [{id: all, tools: [bash]}]}

        """
      try await RelayFixture.run(config: safe, startsDaemon: false) { relay in
        let doctor = try await relay.command("doctor").output
        #expect(doctor.allSatisfy { !$0.hasPrefix("!") }, "\(doctor)")
      }
    }
  }
}
