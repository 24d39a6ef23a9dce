import ArgumentParser
import CLinux
import FoundationEssentials
import Glibc
import RelayConcurrency
internal import RelayDaemon
internal import RelayHome
import RelayTransport
import RelayWire

struct Chat: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Talk to the agent in this terminal.",
    discussion: """
      Without a terminal, messages are read from standard input, one a line, and the answers printed. A daemon is \
      started in the background if none runs. `/file PATH words` attaches a file.
      """)

  @Flag(help: "Keep the daemon in this process; it ends with the chat.") var standalone = false
  @Flag(help: "End the daemon with the chat if the chat has started it and nobody else uses it.") var stopDaemon = false
  @Flag(help: "Say the given message, or all of standard input as one, and print the outcome and the answer as JSON.")
  var json = false
  @Argument(help: "A message to say; the chat ends with its answer.") var message: [String] = []

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    signal(SIGPIPE, SIG_IGN)
    guard standalone else {
      let daemon = try await ChatDaemon(surroundings, stopsAfterwards: stopDaemon)
      do {
        try await talk(surroundings)
      } catch {
        try await daemon.leave()
        throw error
      }
      return try await daemon.leave()
    }
    try await withDaemon(surroundings) { try await talk(surroundings) }
  }

  private func talk(_ surroundings: CommandLineEnvironment) async throws {
    let failed: Bool
    if json || !message.isEmpty {
      let text = message.isEmpty ? Self.standardInput() : message.joined(separator: " ")
      guard text.contains(where: { !$0.isWhitespace }) else {
        throw ValidationError("There is no message: give one as an argument, or on standard input.")
      }
      failed = await ScriptedChat(surroundings, json: json).say([text])
    } else if isatty(0) == 1, isatty(1) == 1 {
      failed = await TerminalChat(surroundings).run()
    } else {
      failed = await ScriptedChat(surroundings, json: false).sayLines()
    }
    if failed { throw ExitStatus.failed }
  }

  private static func standardInput() -> String {
    var text = ""
    while let line = readLine(strippingNewline: false) { text += line }
    while text.last?.isNewline == true { text.removeLast() }
    return text
  }

  /// Runs a daemon of this process around `body`.
  private func withDaemon(_ surroundings: CommandLineEnvironment, _ body: @escaping @Sendable () async throws -> Void)
    async throws
  {
    let (readiness, ready) = AsyncStream<Void>.makeStream()
    var options = surroundings.daemonOptions(say: { _ in })
    options.ready = { ready.yield() }
    let daemon = Daemon(options)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        do { try await daemon.run() } catch { throw surroundings.fail(error) }
        return true
      }
      group.addTask {
        for await _ in readiness { break }
        defer { daemon.stop() }
        try await body()
        return false
      }
      try await group.waitForAll()
    }
  }
}

/// Chat with somebody at a terminal.
struct TerminalChat {
  private let surroundings: CommandLineEnvironment

  init(_ surroundings: CommandLineEnvironment) {
    self.surroundings = surroundings
  }

  private enum Input: Sendable {
    case line(String)
    case interrupt
    case end
  }

  /// - Returns: true when the chat cannot continue.
  func run() async -> Bool {
    let screen = TerminalScreen(
      history: surroundings.home.state + "/chat-history", environment: surroundings.environment)
    let connection = ChatConnection(
      surroundings: surroundings, client: ChatConnection.newClient("terminal"),
      directory: FileManager.default.currentDirectoryPath, screen: screen)
    let inputs = Mailbox<Input>()
    do {
      try watchSignals(inputs)
      try screen.begin { line in inputs.post(line.map(Input.line) ?? .end) }
    } catch {
      StandardError.say("pi-relayd: \(error)")
      return true
    }
    screen.say("pi-relay chat: write to the agent; /help shows commands, Ctrl-C interrupts, Ctrl-D leaves.")
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await connection.run(reconnects: true) }
      group.addTask {
        while let input = await inputs.next() {
          switch input {
          case .end: return
          case .interrupt:
            guard screen.isWorking else { return }
            await say("/stop", connection, screen)
          case .line(let line):
            guard !line.isEmpty else { continue }
            await say(line, connection, screen)
            screen.complete(with: await connection.completions("/"))
          }
        }
      }
      await group.next()
      group.cancelAll()
      // The terminal comes back as it was, whichever of the two ended.
      await screen.end()
    }
    return false
  }

  private func say(_ line: String, _ connection: ChatConnection, _ screen: TerminalScreen) async {
    do {
      let files = LocalFiles(spoolFolder: await connection.spoolFolder())
      let (text, attachments) = try files.read(line)
      _ = try await connection.say(text, attachments: attachments)
    } catch is CancellationError {
      return
    } catch {
      screen.say("[\(error)]")
    }
  }

  private func watchSignals(_ inputs: Mailbox<Input>) throws {
    let descriptor = relay_signal_descriptor()
    guard descriptor >= 0 else { throw SystemError("sigaction") }
    _ = try EventLoop.shared.watch(descriptor, .read) { buffer in
      while read(descriptor, buffer.baseAddress, 1) == 1 {
        inputs.post(Int32(buffer[0]) == SIGINT ? .interrupt : .end)
      }
    }
  }
}

/// Chat for scripts: messages one after another, each waiting for its answer.
struct ScriptedChat {
  private let surroundings: CommandLineEnvironment
  private let json: Bool

  init(_ surroundings: CommandLineEnvironment, json: Bool) {
    self.surroundings = surroundings
    self.json = json
  }

  private struct Report: Encodable {
    var outcome: MessageSettled.Outcome?
    var answer: String
    /// The reason why the message failed.
    var error: String?
    /// The agent's question, which this program has cancelled.
    var question: String?
  }

  /// Says each line of standard input. Answers whether any failed.
  func sayLines() async -> Bool {
    let lines = Mailbox<String>()
    LoopThread.start(name: "relay-stdin") {
      while let line = readLine() { lines.post(line) }
      lines.close()
    }
    return await converse(lines)
  }

  func say(_ messages: [String]) async -> Bool {
    let lines = Mailbox<String>()
    for message in messages { lines.post(message) }
    lines.close()
    return await converse(lines)
  }

  private func converse(_ lines: Mailbox<String>) async -> Bool {
    let screen = PlainChat(prints: !json, environment: surroundings.environment)
    let connection = ChatConnection(
      surroundings: surroundings, client: ChatConnection.newClient("lines"),
      directory: FileManager.default.currentDirectoryPath,
      screen: screen)
    return await withTaskGroup(of: Bool?.self) { group in
      group.addTask {
        await connection.run(reconnects: true)
        return nil
      }
      group.addTask {
        var failed = false
        while let line = await lines.next() {
          guard !line.isEmpty else { continue }
          if await !say(line, connection, screen) { failed = true }
        }
        // Nobody is left to answer, this question or the next.
        while await screen.asksBeforeItsEnd() {
          do { _ = await screen.turn(after: try await connection.say("/cancel")) } catch {
            StandardError.say("pi-relayd: \(error)")
            return true
          }
        }
        return await screen.hasFailed || failed
      }
      var failed = true
      // Either everything has been said, or the daemon does not want us.
      if let next = await group.next(), let result = next { failed = result }
      group.cancelAll()
      return failed
    }
  }

  private func say(_ line: String, _ connection: ChatConnection, _ screen: PlainChat) async -> Bool {
    do {
      let (text, attachments) = try LocalFiles(spoolFolder: await connection.spoolFolder()).read(line)
      await screen.begin(line)
      let id = try await connection.say(text, attachments: attachments)
      var outcome = await screen.turn(after: id)
      if json {
        let question = await screen.question
        if question != nil {
          let cancellation = try await connection.say("/cancel")
          outcome = await screen.turn(after: cancellation)
          outcome = await screen.outcome(of: id) ?? outcome
        }
        let report = Report(
          outcome: outcome, answer: await screen.answer,
          error: outcome == .failed ? await screen.lastNotice : nil, question: question)
        print(String(decoding: try JSONCoding.encode(report, sorted: true), as: UTF8.self))
      }
      return true
    } catch {
      StandardError.say("pi-relayd: \(error)")
      return false
    }
  }
}
