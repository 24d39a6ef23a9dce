import FoundationEssentials
import ProcessSupervision
import Supervisor
import TestSupport
import Testing

extension EndToEnd {
  /// `pi-relayd plugins check` on plugins of `Tests/Fixtures/plugins`, each of which is broken in one way.
  @Suite struct PluginCheckTests {
    private func check(_ plugin: String) async throws -> Command {
      let scratch = try TemporaryFolder()
      let folder = URL(filePath: #filePath).deletingLastPathComponent().path + "/../Fixtures/plugins"
      return try await Command.run(
        Built.executable("pi-relayd"), ["plugins", "check", "\(folder)/\(plugin).py"],
        environment: ["PI_RELAY_HOME": scratch.path + "/home", "HOME": scratch.path, "PATH": "/usr/bin:/bin"])
    }

    @Test func `a messenger that keeps to the protocol passes every check`() async throws {
      let command = try await check("messenger")
      #expect(command.exit == .exited(0))
      #expect(command.output.allSatisfy { $0.hasPrefix("✓ ") }, "\(command.output)")
      for tried in [
        "message.edit", "message.delete", "message.lookup", "typing.set", "dialog.show", "withdrawn",
        "commands.changed",
        "starts again with the state", "as long as it states", "a line of 1 MiB", "file.send", "message.settled",
        "thread.create", "conversation.open", "presence.set", "the same key",
      ] {
        #expect(command.output.count { $0.contains(tried) } == 1, "\(tried)")
      }
    }

    @Test(arguments: [
      (
        "edits-in-words",
        "message.edit is answered with a receipt — the answer to message.edit cannot be understood: result is not an object; "
          + "expected {message?: string, putOff?: boolean}", "message.send, message.edit, message.delete"
      ),
      (
        "deletes-in-silence",
        "message.delete is answered — message.delete failed without one of the kinds in data.kind: not now",
        "message.send, message.edit, message.delete"
      ),
      (
        "forgets-keys", "message.lookup finds what was sent — it finds nothing for the key of m6",
        "message.lookup"
      ),
      (
        "prints-its-log",
        "says nothing on standard output but the protocol — it printed \"typing in check\"", "Lines"
      ),
      (
        "withdraws-once",
        "a question can be withdrawn, twice too — the second time: "
          + "dialog.close failed with -32603, not -32000 and data.kind: no such question", "dialog.show, dialog.close"
      ),
      (
        "has-no-menu",
        "commands.changed is answered, of an empty menu too — "
          + "its capabilities announce commands.changed, which it answers with -32601", "typing.set, commands.changed"
      ),
      (
        "trips-over-its-state",
        "starts again with the state that it saved — initialize: the connection ended (exit code 1)", "state.save"
      ),
      (
        "overstates-its-limit",
        "takes a text as long as it states — capabilities say 2000 utf16, but 2000 of 🦊 are refused: at most 2000 bytes",
        "initialize (host → plugin)"
      ),
      (
        "misspells",
        "asks the host only for what there is — it sends message.recieved, which the host does not know",
        "Every request and its result"
      ),
    ])
    func `a broken plugin is told in one line what is wrong and where it is said`(
      plugin: String, finding: String, section: String
    ) async throws {
      let command = try await check(plugin)
      #expect(command.exit == .exited(1))
      let found = command.output.filter { !$0.hasPrefix("✓ ") }
      #expect(found == ["✗ \(finding); see \"\(section)\" in docs/plugin-protocol.md"])
    }
  }
}
