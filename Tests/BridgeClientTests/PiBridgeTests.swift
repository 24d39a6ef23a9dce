import CLinux
import Glibc
import ProcessSupervision
import RelayJSON
import RelayWire
import TestSupport
import Testing

/// `pi-bridge` as scripts run it, against a bridge of the test's own.
@Suite struct PiBridgeTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func run(_ arguments: String..., input: String = "") async throws -> Command {
    try await Command.run(
      Built.executable("pi-bridge"), arguments,
      environment: ["PI_BRIDGE_DIR": folder.path, "PATH": "/usr/bin:/bin"], input: input)
  }

  private func json(_ lines: [String]) throws -> JSONValue {
    try JSONCoding.decode(JSONValue.self, from: Array(lines.joined(separator: "\n").utf8))
  }

  private func answering(_ data: String = "{}", success: Bool = true) throws -> FakeBridge {
    try FakeBridge(in: folder) { request, send in send(FakeBridge.response(request, success: success, data)) }
  }

  @Test func `list prints columns with tabs between them`() async throws {
    #expect(try await run("list").output == ["No active pi session bridges found."])
    let bridge = try FakeBridge(
      in: folder, #""sessionId":"0123456789","sessionName":"my\tname","cwd":"/work","isIdle":false"#
    ) { _, _ in }
    let listed = try await run("list")
    #expect(listed.exit == .exited(0))
    #expect(
      listed.output == [
        "PID\tIDLE\tSESSION\tNAME\tCWD\tSOCKET", "\(getpid())\tno\t01234567\tmy name\t/work\t\(bridge.socket)",
      ])
  }

  @Test func `list as JSON repeats the registry file and says that the bridge is alive`() async throws {
    let bridge = try answering()
    let listed = try await run("list", "--json")
    let item = try json(listed.output).arrayValue?.first
    #expect(item?["socketPath"]?.stringValue == bridge.socket)
    #expect(item?["alive"]?.boolValue == true && item?["stale"]?.boolValue == false)
    #expect(listed.output.prefix(3) == ["[", "  {", #"    "protocol": "pi-session-bridge.v1","#])
  }

  @Test func `a bridge whose process is gone is listed only with --all`() async throws {
    mkdir(folder.path + "/instances", 0o700)
    try folder.write("instances/x.json", "")
    try folder.write(
      "instances/99999999.json", #"{"protocol":"pi-session-bridge.v1","pid":99999999,"socketPath":"/x"}"#)
    #expect(try await run("list").output == ["No active pi session bridges found."])
    #expect(try await run("list", "--all").output.count == 2)
  }

  @Test func `a process that began later under the same process id is taken for another process`() async throws {
    let bridge = try FakeBridge(in: folder, #""processStartTime":1"#) { _, _ in }
    #expect(try await run("list").output == ["No active pi session bridges found."])
    #expect(!bridge.socket.isEmpty)
  }

  @Test func `a folder that others can write to is refused`() async throws {
    let bridge = try answering()
    chmod(folder.path, 0o777)
    let listed = try await run("list")
    #expect(listed.exit == .exited(1))
    #expect(listed.errors.first?.contains("can be written by others") == true)
    #expect(bridge.requests.isEmpty)
  }

  @Test(arguments: [
    (["state"], #"{"type":"get_state"}"#),
    (["commands"], #"{"type":"get_commands"}"#),
    (["send", "run", "the tests"], #"{"type":"prompt","message":"run the tests"}"#),
    (["send", "--follow-up", "x"], #"{"type":"prompt","message":"x","deliverAs":"followUp"}"#),
    (["send", "--now", "x"], #"{"type":"prompt","message":"x","deliverAs":"now"}"#),
    (["send", "--", "--now"], #"{"type":"prompt","message":"--now"}"#),
    (["steer", "x"], #"{"type":"steer","message":"x"}"#),
    (["followUp", "x"], #"{"type":"follow_up","message":"x"}"#),
    (["abort"], #"{"type":"abort"}"#),
    (["shutdown", "--confirm"], #"{"type":"shutdown","confirm":true}"#),
    (
      ["history", "20", "--raw", "--event", "turn_end", "--since", "2026-05-21T00:00:00Z", "--max-bytes", "9"],
      #"{"type":"history","limit":20,"raw":true,"event":"turn_end","since":"2026-05-21T00:00:00Z","maxBytes":9}"#
    ),
    (["question-list"], #"{"type":"questions"}"#),
    (
      ["answer", "--request-id", "que_1", "--answers", #"[["Yes"]]"#],
      #"{"type":"answer","requestId":"que_1","answers":[["Yes"]]}"#
    ),
    (["reply", "--request-id", "que_1", #"[["Yes"]]"#], #"{"type":"answer","requestId":"que_1","answers":[["Yes"]]}"#),
    (["reject", "--request-id", "que_1"], #"{"type":"reject","requestId":"que_1"}"#),
    (["emit"], #"{"type":"emit","message":"test"}"#),
    (["raw", #"{"type":"dance","step":1}"#], #"{"type":"dance","step":1}"#),
  ])
  func `each verb sends its request`(arguments: [String], expected: String) async throws {
    let bridge = try answering()
    let command = try await Command.run(
      Built.executable("pi-bridge"), arguments,
      environment: ["PI_BRIDGE_DIR": folder.path, "PATH": "/usr/bin:/bin"])
    #expect(command.exit == .exited(0), "\(command.errors)")
    var request = bridge.requests.first?.objectValue
    #expect(request?.removeValue(forKey: "id") != nil)
    #expect(request.map(JSONValue.object) == (try JSONCoding.decode(JSONValue.self, from: Array(expected.utf8))))
  }

  @Test func `a request may come from standard input and keep its own id`() async throws {
    let bridge = try answering()
    let command = try await run("request", "-", input: #"{"id":"mine","type":"ping"}"#)
    #expect(command.exit == .exited(0))
    #expect(bridge.requests.first?["id"]?.stringValue == "mine")
  }

  @Test func `an answer is printed over lines and a refusal ends with 1`() async throws {
    let bridge = try answering(#"{"isIdle":true,"list":[]}"#)
    #expect(
      try await run("state").output == [
        "{", #"  "type": "response","#, #"  "id": "pi-bridge-1","#, #"  "command": "get_state","#,
        #"  "success": true,"#,
        #"  "data": {"#, #"    "isIdle": true,"#, #"    "list": []"#, "  }", "}",
      ])
    #expect(!bridge.requests.isEmpty)
    let refusing = try answering(success: false)
    #expect(try await run("state").exit == .exited(1))
    #expect(!refusing.requests.isEmpty)
  }

  @Test(
    arguments: [
      ([], "USAGE"), (["send"], "Missing expected argument"), (["send", " "], "the message is empty"),
      (["send", "--loud", "x"], "Unknown option"), (["answer", "--request-id", "q"], "Missing --answers"),
      (["answer", "--request-id", "q", "--answers", "["], "Invalid JSON in --answers"),
      (["request", "[]"], "JSON command must be an object"), (["request", "{}"], "must include a string type"),
      (["history", "0"], "give 1 or more events"), (["state", "--timeout", "0"], "--timeout"),
      (["state"], "No matching active pi session bridge. Use `pi-bridge list`."),
      (["state", "--socket", "/nowhere"], "/nowhere: No such file or directory"),
    ] as [([String], String)])
  func `a fault ends the command with 1 and a message that names the fault`(arguments: [String], words: String)
    async throws
  {
    let command = try await Command.run(
      Built.executable("pi-bridge"), arguments,
      environment: ["PI_BRIDGE_DIR": folder.path, "PATH": "/usr/bin:/bin"])
    #expect(command.exit == .exited(1))
    #expect(command.output.isEmpty)
    #expect(command.errors.joined(separator: "\n").contains(words), "\(command.errors)")
  }

  @Test func `several bridges are listed and none is chosen`() async throws {
    let one = try FakeBridge(in: folder, #""sessionName":"web","cwd":"/a""#) { request, send in
      send(FakeBridge.response(request))
    }
    let other = try FakeBridge(in: folder, pid: getppid(), #""sessionName":"web-2","cwd":"/b""#) { request, send in
      send(FakeBridge.response(request))
    }
    let command = try await run("state")
    #expect(command.exit == .exited(1))
    #expect(command.output.count == 3)
    #expect(
      command.errors == ["Multiple matching pi session bridges. Add --pid, --session, --name, or --socket."])
    #expect(try await run("state", "--cwd", "/b").exit == .exited(0))
    #expect(other.requests.count == 1)
    // Another's name holds these words too; the one that is called so is meant.
    #expect(try await run("state", "--name", "web").exit == .exited(0))
    #expect(one.requests.count == 1)
  }

  @Test(arguments: [
    (["--pid", "\(getppid())"], 1), (["--session", "s-two"], 1), (["--session", "two.jsonl"], 1),
    (["--name", "web", "--cwd", "/b"], 1), (["--session", "s-", "--cwd", "/a"], 0),
  ])
  func `a target is one that fits every filter`(filters: [String], expected: Int) async throws {
    let facts = [
      #""sessionId":"s-one","sessionFile":"/s/one.jsonl","sessionName":"web-1","cwd":"/a""#,
      #""sessionId":"s-two","sessionFile":"/s/two.jsonl","sessionName":"web-2","cwd":"/b""#,
    ]
    let bridges = try zip([getpid(), getppid()], facts).map { pid, facts in
      try FakeBridge(in: folder, pid: pid, facts) { request, send in send(FakeBridge.response(request)) }
    }
    let command = try await Command.run(
      Built.executable("pi-bridge"), ["state"] + filters,
      environment: ["PI_BRIDGE_DIR": folder.path, "PATH": "/usr/bin:/bin"])
    #expect(command.exit == .exited(0), "\(command.errors)")
    #expect(bridges.map(\.requests.count) == (expected == 0 ? [1, 0] : [0, 1]))
  }

  @Test func `filters that fit no bridge together choose none`() async throws {
    let bridge = try FakeBridge(in: folder, #""sessionName":"web","cwd":"/a""#) { _, _ in }
    let command = try await run("state", "--name", "web", "--cwd", "/b")
    #expect(command.exit == .exited(1))
    #expect(command.errors == ["No matching active pi session bridge. Use `pi-bridge list`."])
    #expect(try await run("state", "--pid", "1").exit == .exited(1))
    #expect(bridge.requests.isEmpty)
  }

  @Test(arguments: [["help"], ["-h"], ["--help"], ["help", "send"], ["send", "--help"]])
  func `help ends with 0 and is no error`(arguments: [String]) async throws {
    let command = try await Command.run(
      Built.executable("pi-bridge"), arguments, environment: ["PATH": "/usr/bin:/bin"])
    #expect(command.exit == .exited(0))
    #expect(command.output.contains { $0.hasPrefix("USAGE: pi-bridge") } && command.errors.isEmpty)
  }

  @Test(
    arguments: [
      (["state"], "No matching active pi session bridge. Use `pi-bridge list`."),
      (["state", "--socket", "/nowhere"], "/nowhere: No such file or directory"),
      (["send", " "], "the message is empty"), (["list", "--loud"], "Unknown option '--loud'"),
    ] as [([String], String)])
  func `an error is one line of JSON where JSON is wanted`(arguments: [String], words: String) async throws {
    let command = try await Command.run(
      Built.executable("pi-bridge"), arguments + ["--json"],
      environment: ["PI_BRIDGE_DIR": folder.path, "PATH": "/usr/bin:/bin"])
    #expect(command.exit == .exited(1) && command.errors.isEmpty)
    #expect(command.output.count == 1)
    let error = try json(command.output)
    #expect(error["success"] == false && error["type"] == "response")
    #expect(error["error"]?.stringValue?.contains(words) == true, "\(error)")
    // Behind -- it is a part of the message.
    #expect(try await run("send", "--", "--json").errors.count == 1)
  }

  @Test func `several bridges are told as JSON where JSON is wanted`() async throws {
    let bridges = try [getpid(), getppid()].map { try FakeBridge(in: folder, pid: $0) { _, _ in } }
    let command = try await run("state", "--json")
    #expect(command.exit == .exited(1) && command.errors.isEmpty)
    let error = try json(command.output)
    #expect(
      error["error"] == "Multiple matching pi session bridges. Add --pid, --session, --name, or --socket.")
    let sockets = error["bridges"]?.arrayValue?.compactMap { $0["socketPath"]?.stringValue }
    #expect(Set(sockets ?? []) == Set(bridges.map(\.socket)))
  }

  @Test func `a bridge that accepts nobody ends the command`() async throws {
    let path = folder.path + "/full.sock"
    let listener = relay_listen_unix(path)
    defer { _ = close(listener) }
    // Room for one that nobody accepts.
    #expect(listen(listener, 0) == 0)
    let first = relay_connect_unix(path)
    defer { _ = close(first) }
    let command = try await run("state", "--socket", path, "--timeout", "0.2")
    #expect(command.exit == .exited(1))
    #expect(command.errors == ["the session did not answer in time (--timeout)"])
  }

  @Test func `a session that does not answer ends the command`() async throws {
    let bridge = try FakeBridge(in: folder) { _, _ in }
    let command = try await run("state", "--timeout", "0.2")
    #expect(command.exit == .exited(1))
    #expect(command.errors == ["the session did not answer in time (--timeout)"])
    #expect(bridge.requests.count == 1)
  }

  @Test func `stream prints lines as they come until the session is gone`() async throws {
    let bridge = try FakeBridge(in: folder) { request, send in
      send(FakeBridge.response(request, #"{"enabled":true}"#))
      send(#"{"type":"event","event":"turn_start","timestamp":"t","data":{}}"#)
      send("")
    }
    let command = try await run("stream")
    #expect(command.exit == .exited(1))
    #expect(command.errors == ["bridge-stream-closed"])
    #expect(command.output.last == #"{"type":"event","event":"turn_start","timestamp":"t","data":{}}"#)
    #expect(bridge.requests.first?["type"]?.stringValue == "subscribe")
  }

  @Test func `stream passes on as they came the lines before its request was answered`() async throws {
    let line = #"{"event":"turn_start", "type":"event","data":{"b":1.50,"a":"\u0041"},"timestamp":"t"}"#
    let bridge = try FakeBridge(in: folder) { request, send in
      send(line)
      send(FakeBridge.response(request))
      send("")
    }
    let greeting = #"{"type":"bridge_hello","protocol":"pi-session-bridge.v1","state":{"isIdle":true}}"#
    #expect(try await run("stream").output == [greeting, line])
    #expect(bridge.requests.count == 1)
  }

  @Test func `tail as JSON is the stream`() async throws {
    let bridge = try FakeBridge(in: folder) { request, send in
      send(FakeBridge.response(request))
      send(#"{"type":"event","event":"turn_start","timestamp":"t","data":{}}"#)
      send("")
    }
    let command = try await run("tail", "--json")
    #expect(command.exit == .exited(1) && command.errors.isEmpty)
    #expect(
      command.output.dropFirst() == [
        #"{"type":"event","event":"turn_start","timestamp":"t","data":{}}"#,
        #"{"error":"bridge-stream-closed","success":false,"type":"response"}"#,
      ])
    #expect(bridge.requests.first?["type"] == "subscribe")
  }

  @Test func `wait asks again where no event tells that the session has become idle`() async throws {
    let bridge = try FakeBridge(in: folder) { request, send in
      let isFirst = request["id"]?.stringValue == "pi-bridge-1"
      // Still at work when the end of its run is told, as an older pi is.
      if isFirst { send(#"{"type":"event","event":"agent_end","timestamp":"t","data":{}}"#) }
      send(FakeBridge.response(request, #"{"isIdle":\#(!isFirst)}"#))
    }
    let command = try await run("wait", "--timeout", "60", "--json")
    #expect(command.exit == .exited(0), "\(command.errors)")
    #expect(try json(command.output)["data"]?["isIdle"] == true)
    #expect(bridge.requests.count == 2)
  }

  @Test func `wait ends where the session refuses to tell its state`() async throws {
    let bridge = try answering(success: false)
    let command = try await run("wait")
    #expect(command.exit == .exited(1))
    #expect(command.errors == ["no"])
    #expect(bridge.requests.count == 1)
  }

  @Test func `wait returns at the end of the run`() async throws {
    let bridge = try FakeBridge(in: folder) { request, send in
      let isFirst = request["id"]?.stringValue == "pi-bridge-1"
      send(FakeBridge.response(request, #"{"isIdle":\#(!isFirst)}"#))
      if isFirst { send(#"{"type":"event","event":"agent_end","timestamp":"t","data":{}}"#) }
    }
    let command = try await run("wait")
    #expect(command.exit == .exited(0), "\(command.errors)")
    #expect(command.output.isEmpty)
    #expect(bridge.requests.count == 2)
  }

  @Test func `wait ends after its time limit with a message`() async throws {
    let bridge = try FakeBridge(in: folder) { request, send in
      send(FakeBridge.response(request, #"{"isIdle":false}"#))
    }
    let command = try await run("wait", "--timeout", "0.2")
    #expect(command.exit == .exited(1))
    #expect(command.errors == ["the agent is still at work after 0.2 s"])
    #expect(bridge.requests.count == 1)
  }

  /// A session at work, which ends.
  private func working(_ events: [(String, String)]) throws -> FakeBridge {
    try FakeBridge(in: folder) { request, send in
      send(FakeBridge.response(request, #"{"sessionName":"web","cwd":"/a","isIdle":true}"#))
      for (name, data) in events { send(#"{"type":"event","event":"\#(name)","timestamp":"t","data":\#(data)}"#) }
      send("")
    }
  }

  @Test func `tail shows text and tools without control sequences`() async throws {
    let bridge = try working([
      ("input", #"{"textPreview":"go","textBytes":2}"#),
      ("message_update", #"{"type":"text_delta","deltaPreview":"Hel\u001b[2Jlo","deltaBytes":9}"#),
      ("message_update", #"{"type":"text_delta","deltaPreview":" you","deltaBytes":4}"#),
      ("tool_execution_start", #"{"toolName":"bash","argsPreview":"{}"}"#),
      ("tool_execution_end", #"{"toolName":"bash","isError":true}"#), ("agent_end", "{}"),
    ])
    let command = try await run("tail")
    #expect(
      command.output == ["● web /a · idle", "▶ go", "Hel[2Jlo you", "⚙ bash {}", "✗ bash", "■ done"])
    #expect(command.errors == ["The session is gone."])
    #expect(!bridge.requests.isEmpty)
  }

  @Test func `tail shows questions with their answers, also those that come before its state`() async throws {
    let question = #"{"question":"Push?","options":[{"label":"Yes"},{"label":"No"}]}"#
    let bridge = try FakeBridge(in: folder) { request, send in
      func tell(_ data: String) {
        send(#"{"type":"event","event":"question","timestamp":"t","data":\#(data)}"#)
      }
      tell(#"{"action":"asked","requestId":"q1","questions":[\#(question)]}"#)
      send(FakeBridge.response(request, #"{"sessionName":"web"}"#))
      tell(#"{"action":"answered","requestId":"q1","answer":"yes","by":"Ann"}"#)
      tell(#"{"action":"withdrawn","requestId":"q2","reason":"the agent has ended"}"#)
      tell(#"{"action":"opened","request":{"id":"q3","questions":[\#(question)]}}"#)
      send("")
    }
    #expect(
      try await run("tail").output == [
        "● web ", "? Push? [Yes | No] (q1)", "? answered: yes by Ann (q1)",
        "? withdrawn: the agent has ended (q2)", "? Push? [Yes | No] (q3)",
      ])
    #expect(bridge.requests.count == 1)
  }

  @Test(arguments: [([:], true), (["NO_COLOR": "1"], false)] as [([String: String], Bool)])
  func `tail is coloured on a terminal unless a person wants no colours`(
    environment: [String: String], isColoured: Bool
  ) async throws {
    let bridge = try working([("tool_execution_end", #"{"toolName":"bash","isError":false}"#)])
    let onTerminal = "import pty, sys; pty.spawn(sys.argv[1:])"
    let command = try await Command.run(
      "/usr/bin/env", ["python3", "-c", onTerminal, Built.executable("pi-bridge"), "tail"],
      environment: environment.merging(
        ["PI_BRIDGE_DIR": folder.path, "PATH": "/usr/local/bin:/usr/bin:/bin"]) { given, _ in given })
    #expect(command.output.contains(isColoured ? "\u{1B}[32m✓ bash\u{1B}[0m" : "✓ bash"), "\(command.output)")
    #expect(!bridge.requests.isEmpty)
  }
}
