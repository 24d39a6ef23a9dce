import ArgumentParser
import Glibc
internal import RelayDaemon
internal import RelayHome
import RelayTransport
internal import TerminalChat

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
    // Before a daemon is started for nothing.
    let words = try spokenWords()
    guard standalone else {
      let daemon = try await ChatDaemon(surroundings, stopsAfterwards: stopDaemon)
      do {
        try await talk(surroundings, words)
      } catch {
        try await daemon.leave()
        throw error
      }
      return try await daemon.leave()
    }
    try await withDaemon(surroundings) { try await talk(surroundings, words) }
  }

  /// The one message of this chat; `nil` for a chat of many.
  private func spokenWords() throws -> String? {
    guard json || !message.isEmpty else { return nil }
    let text = message.isEmpty ? Self.standardInput() : message.joined(separator: " ")
    guard text.contains(where: { !$0.isWhitespace }) else {
      StandardError.say("pi-relayd: there is nothing to say; give a message, or write it to standard input")
      throw ExitCode.validationFailure
    }
    return text
  }

  private func talk(_ surroundings: CommandLineEnvironment, _ words: String?) async throws {
    let environment = ChatEnvironment(
      variables: surroundings.environment, directory: surroundings.workingDirectory,
      historyFile: surroundings.home.state + "/chat-history", connect: { surroundings.connect() })
    let failed: Bool
    if let words {
      failed = await ScriptedChat(environment, json: json).say([words])
    } else if isatty(0) == 1, isatty(1) == 1 {
      failed = await InteractiveChat(environment).run()
    } else {
      failed = await ScriptedChat(environment, json: false).sayLines()
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
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        // A daemon that does not start is never ready.
        defer { ready.finish() }
        do { try await daemon.run() } catch { throw surroundings.fail(error) }
      }
      group.addTask {
        for await _ in readiness {
          defer { daemon.stop() }
          return try await body()
        }
      }
      try await group.waitForAll()
    }
  }
}
