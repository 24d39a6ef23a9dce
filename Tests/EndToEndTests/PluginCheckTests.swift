import FoundationEssentials
import ProcessSupervision
import RelayJSON
import RelayWire
import TestSupport
import Testing

extension EndToEnd.Operation {
  /// `pi-relayd plugins check` on plugins of `Tests/Fixtures/plugins`, each of which is broken in one way.
  @Suite struct PluginCheckTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().path + "/../.."

    private func check(_ plugin: String, config: JSONValue? = nil) async throws -> Command {
      try await check(path: "\(Self.root)/Tests/Fixtures/plugins/\(plugin).py", config: config)
    }

    private func check(path: String, config: JSONValue? = nil) async throws -> Command {
      let scratch = try TemporaryFolder()
      var arguments = ["plugins", "check", path]
      if let config {
        try Data(JSONCoding.encode(config)).write(to: URL(filePath: scratch.path + "/config.json"))
        arguments += ["--config", scratch.path + "/config.json"]
      }
      return try await Command.run(
        Built.executable("pi-relayd"), arguments,
        environment: ["PI_RELAY_HOME": scratch.path + "/home", "HOME": scratch.path, "PATH": "/usr/bin:/bin"])
    }

    /// The one line that tells of a fault, and a code other than 0.
    private func expectOneFault(
      _ command: Command, _ finding: String, _ section: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
      #expect(command.exit == .exited(1), sourceLocation: sourceLocation)
      // The number of a request depends on how many checks there are.
      let faults = command.output.filter { $0.hasPrefix("✗ ") }.map { $0.replacing(/the id \d+/, with: "the id #") }
      #expect(
        faults == ["✗ \(finding); see \"\(section)\" in docs/plugin-protocol.md"],
        "\(command.output)", sourceLocation: sourceLocation)
      #expect(command.output.allSatisfy { line in ["✓ ", "✗ ", "– "].contains { line.hasPrefix($0) } })
    }

    @Test func `a messenger that keeps to the protocol passes every check`() async throws {
      let command = try await check("messenger")
      #expect(command.exit == .exited(0))
      #expect(
        command.output.filter { !$0.hasPrefix("✓ ") }
          == ["– catches up after a restart — not tried, because it handed over no message during the check"])
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
        "forgets-keys", "message.lookup finds a sent message — it finds nothing for the key of m8",
        "message.lookup"
      ),
      (
        "prints-its-log",
        "prints only protocol lines on standard output — it printed \"typing in check\" "
          + "(during \"typing.set is answered\")", "Lines"
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
        "sends the host only known requests — it sends message.recieved, which the host does not know",
        "Every request and its result"
      ),
    ])
    func `the fault of a broken plugin is reported in one line with the section of the protocol`(
      plugin: String, finding: String, section: String
    ) async throws {
      let command = try await check(plugin)
      expectOneFault(command, finding, section)
    }

    @Test func `a messenger that catches up passes every check`() async throws {
      let command = try await check("catches-up")
      #expect(command.exit == .exited(0))
      #expect(command.output.allSatisfy { $0.hasPrefix("✓ ") }, "\(command.output)")
      for tried in [
        "starts again with the state", "an id of its own", "again under another id", "hands over unanswered messages",
        "answered with -32001", "continues after the last message",
      ] {
        #expect(command.output.count { $0.contains(tried) } >= 1, "\(tried)")
      }
    }

    @Test(arguments: [
      ("ping", "answers ping", "{}", "Both: ping, shutdown"),
      ("shutdown", "answers shutdown", "{}", "Both: ping, shutdown"),
      (
        "message.send", "message.send answers with the message's id", "{message: string}",
        "message.send, message.edit, message.delete"
      ),
      (
        "message.edit", "message.edit is answered with a receipt", "{message?: string, putOff?: boolean}",
        "message.send, message.edit, message.delete"
      ),
      ("message.delete", "message.delete is answered", "{}", "message.send, message.edit, message.delete"),
      ("message.lookup", "message.lookup finds a sent message", "{message?: string}", "message.lookup"),
      ("message.settled", "message.settled is answered, of unknown messages too", "{}", "message.settled"),
      ("file.send", "file.send answers with the message's id", "{message: string}", "file.send"),
      (
        "dialog.show", "dialog.show answers with the message's id", "{message: string}", "dialog.show, dialog.close"
      ),
      ("dialog.close", "a question can be withdrawn, twice too", "{}", "dialog.show, dialog.close"),
      ("typing.set", "typing.set is answered", "{}", "typing.set, commands.changed"),
      (
        "commands.changed", "commands.changed is answered, of an empty menu too", "{}", "typing.set, commands.changed"
      ),
      (
        "thread.create", "thread.create answers with a thread", "{conversation: Conversation}",
        "thread.create, conversation.open, presence.set"
      ),
      (
        "conversation.open", "conversation.open answers with direct messages", "{conversation: Conversation}",
        "thread.create, conversation.open, presence.set"
      ),
      (
        "presence.set", "presence.set is answered, without a text too", "{}",
        "thread.create, conversation.open, presence.set"
      ),
      (
        "format.render", "format.render keeps to the limit",
        "{pieces: [{text: string, consumed: integer, reopen?: string}]}", "format.render"
      ),
      ("format.tool", "format.tool answers a line for each call", "{lines: [string]}", "format.tool"),
      (
        "attachments.prepare", "attachments.prepare takes a text file",
        "{images: [{name: string, mime: string, base64Path: string}], text: string}", "attachments.prepare"
      ),
    ])
    func `a result of null is reported in one line for each method`(
      method: String, check: String, form: String, section: String
    ) async throws {
      let command = try await self.check("answers-null", config: ["method": .string(method)])
      let why = "the answer to \(method) cannot be understood: result is null, not an object; expected \(form)"
      let words = method == "dialog.show" ? "confirm: " : ""
      expectOneFault(command, "\(check) — \(words)\(why)", section)
    }

    @Test(arguments: [
      (
        "dies-of-sending",
        "message.send answers with the message's id — message.send: the connection ended (exit code 3)",
        "message.send, message.edit, message.delete"
      ),
      ("dies-of-long-lines", "reads a line of 1 MiB — ping: the connection ended (exit code 4)", "Lines"),
      (
        "answers-twice",
        "answers each request once, with its id — it answered the id #, which no unanswered request has "
          + "(during \"typing.set is answered\")", "Lines"
      ),
      (
        "answers-strangers",
        "answers each request once, with its id — it answered the id \"typing\", which no unanswered request has "
          + "(during \"typing.set is answered\")", "Lines"
      ),
      (
        "answers-notifications",
        "answers each request once, with its id — it sent an answer without an id "
          + "(during \"ignores a notification\")", "Lines"
      ),
      (
        "sends-notifications",
        "gives each of its requests an id — it sent problem.report without an id, which the host ignores "
          + "(during \"typing.set is answered\")", "Lines"
      ),
      (
        "prints-a-long-line",
        "sends whole lines of at most 16 MiB — it printed a line of 17 MiB; the limit is 16 MiB "
          + "(during \"typing.set is answered\")", "Lines"
      ),
      (
        "saves-too-much",
        "sends the host only known requests — state.save: the state is over 256 KiB",
        "Every request and its result"
      ),
      (
        "names-no-sender",
        "sends the host only known requests — message.received: params.sender is missing",
        "Every request and its result"
      ),
      (
        "names-all-alike",
        "each message gets an id of its own — message.send answered two messages with the one id m",
        "message.send, message.edit, message.delete"
      ),
      (
        "gives-one-id-twice",
        "gives each message an id of its own — "
          + "message.received: the id p came with the text \"one\" and then with \"two\"", "message.received"
      ),
    ])
    func `a fault of each kind is reported in one line`(plugin: String, finding: String, section: String) async throws {
      expectOneFault(try await check(plugin), finding, section)
    }

    @Test func `a fault that shows only after a time is reported in one line`() async throws {
      let faults: [(plugin: String, finding: String, section: String)] = [
        (
          "stays-silent-on-edits",
          "message.edit is answered with a receipt — no answer to message.edit in time",
          "message.send, message.edit, message.delete"
        ),
        ("stays-silent", "answers ping — no answer to ping in time", "Both: ping, shutdown"),
        (
          "never-leaves", "leaves within 5 s of end of input — it was still running and had to be killed",
          "Lifecycle of a plugin"
        ),
        (
          "moves-on-too-early",
          "hands over unanswered messages again — message.received of p0 had no answer when the host ended, "
            + "and did not come again within 10 s of the start", "message.received"
        ),
        (
          "skips-ahead",
          "continues after the last message of its state — message.received of p1 had no answer, "
            + "and did not come within 10 s of a start with the state of p0", "message.received"
        ),
        (
          "drops-what-is-put-off",
          "sends messages again that were answered with -32001 — "
            + "message.received of p0 was answered with -32001 and did not come again within 10 s", "message.received"
        ),
      ]
      // At once, since each of them is waited for.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (plugin, finding, section) in faults {
          group.addTask { expectOneFault(try await check(plugin), finding, section) }
        }
        try await group.waitForAll()
      }
    }

    @Test func `a method that is never answered is reported in one line`() async throws {
      // At once, since each of them is waited for.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for method in ["message.send", "message.delete", "dialog.show", "format.render"] {
          group.addTask {
            let command = try await check("stays-silent-on-one", config: ["method": .string(method)])
            let faults = command.output.filter { $0.hasPrefix("✗ ") }
            #expect(
              faults.count == 1 && faults.first?.contains("no answer to \(method) in time") == true,
              "\(command.output)")
          }
        }
        try await group.waitForAll()
      }
    }

    @Test func `messages with other ids after a restart are reported in one line`() async throws {
      let command = try await check("renames-messages")
      let faults = command.output.filter { $0.hasPrefix("✗ ") }
      #expect(command.exit == .exited(1))
      #expect(faults.count == 1, "\(command.output)")
      #expect(faults[0].contains("hands over no message again under another id — message.received: \"one\" came with"))
      #expect(faults[0].hasSuffix("; see \"message.received\" in docs/plugin-protocol.md"))
    }

    @Test func `a process that outlives the plugin is reported in one line, and killed`() async throws {
      let command = try await check("leaves-a-process")
      let faults = command.output.filter { $0.hasPrefix("✗ ") }
      #expect(command.exit == .exited(1))
      #expect(faults.count == 1, "\(command.output)")
      #expect(faults[0].hasPrefix("✗ leaves no process behind — process "))
      #expect(
        faults[0].hasSuffix(
          " still ran 2 s after the plugin had ended: sleep 600; see \"Lifecycle of a plugin\" in docs/plugin-protocol.md"
        ))
      let pid = try #require(faults[0].split(separator: " ").compactMap { Int32($0) }.first)
      // A process that was killed may yet have to be reaped by its new parent.
      let state = FileManager.default.contents(atPath: "/proc/\(pid)/stat").map { String(decoding: $0, as: UTF8.self) }
      #expect(state == nil || state?.contains(") Z ") == true)
    }

    @Test func `checks that a silent method prevents are reported in one line`() async throws {
      let command = try await check("dies-of-sending")
      let untried = command.output.filter { $0.hasPrefix("– ") && $0.hasSuffix("because message.send failed above") }
      #expect(untried.count == 1, "\(command.output)")
      #expect(command.output.contains("✓ typing.set is answered"))
    }

    @Test(arguments: ["pi-relay-formatter", "pi-relay-attachments", "pi-relay-discord", "pi-relay-slack"])
    func `a bundled plugin passes every check`(name: String) async throws {
      let command = try await check(path: Built.executable(name))
      #expect(command.exit == .exited(0), "\(command.output)")
      #expect(!command.output.contains { $0.hasPrefix("✗ ") }, "\(command.output)")
    }

    @Test func `the messenger of Discord passes every check at a Discord of its own`() async throws {
      try await PythonServer.run("fake-discord", with: PythonServer.python) { discord in
        let command = try await check(
          path: Built.executable("pi-relay-discord"),
          config: [
            "token": "the-token", "api": .string("http://127.0.0.1:\(discord.ports[1])"),
            "channels": [.string(Discord.general)], "dms": true,
          ])
        #expect(command.exit == .exited(0), "\(command.output)")
        #expect(!command.output.contains { $0.hasPrefix("✗ ") }, "\(command.output)")
        #expect(command.output.contains("✓ message.send answers with the message's id"))
      }
    }

    @Test(arguments: ["file-messenger.py", "file-messenger.sh", "folder-messenger.py"])
    func `an example passes every check`(name: String) async throws {
      let scratch = try TemporaryFolder()
      try FileManager.default.createDirectory(atPath: scratch.path + "/box", withIntermediateDirectories: false)
      try scratch.write("box/inbox.txt", "one\ntwo\nthree\n")
      let folders: JSONValue = [
        "inbox": .string(scratch.path + "/inbox"), "outbox": .string(scratch.path + "/outbox"),
        "folder": .string(scratch.path + "/box"),
      ]
      for config in [nil, folders] {
        let command = try await check(path: "\(Self.root)/examples/plugins/\(name)", config: config)
        #expect(command.exit == .exited(0), "\(command.output)")
        #expect(!command.output.contains { $0.hasPrefix("✗ ") }, "\(command.output)")
        if config != nil, name == "folder-messenger.py" {
          #expect(command.output.contains("✓ continues after the last message of its state"))
        }
      }
    }
  }
}
