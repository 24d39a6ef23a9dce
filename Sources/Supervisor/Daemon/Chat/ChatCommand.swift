import ArgumentParser
import FoundationEssentials
import Glibc
import RelayPipes
import RelayWire
import Supervisor

struct Chat: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Talk to the agent in this terminal.",
    discussion: "Without a terminal, messages are read from standard input, one a line, and the answers printed.")

  func run() async throws {
    let surroundings = Surroundings()
    signal(SIGPIPE, SIG_IGN)
    if surroundings.connect() == nil { try await DetachedDaemon(surroundings).start() }
    let failed = await PlainChatLoop(surroundings).run()
    if failed { throw ExitStatus.failed }
  }
}

/// Says each line of standard input, and waits for its answer before the next.
struct PlainChatLoop {
  private let surroundings: Surroundings

  init(_ surroundings: Surroundings) {
    self.surroundings = surroundings
  }

  /// Answers whether any message failed.
  func run() async -> Bool {
    let screen = PlainChat(prints: true)
    let connection = ChatConnection(
      surroundings: surroundings, client: "lines-\(getpid())", directory: FileManager.default.currentDirectoryPath,
      screen: screen)
    return await withTaskGroup(of: Bool?.self) { group in
      group.addTask {
        await connection.run(reconnects: true)
        return nil
      }
      group.addTask {
        var failed = false
        while let line = readLine() {
          guard !line.isEmpty else { continue }
          do {
            let id = try await connection.say(line)
            if await screen.outcome(of: id) == .failed { failed = true }
          } catch {
            StandardError.say("pi-relayd: \(error)")
            failed = true
          }
        }
        return failed
      }
      while let next = await group.next() {
        if let failed = next {
          group.cancelAll()
          return failed
        }
      }
      return true
    }
  }
}
