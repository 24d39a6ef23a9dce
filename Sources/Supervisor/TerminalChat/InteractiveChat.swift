import CLinux
import Glibc
import RelayConcurrency
import RelayTransport
import RelayWire

/// Chat with somebody at a terminal.
package struct InteractiveChat {
  private let environment: ChatEnvironment

  package init(_ environment: ChatEnvironment) {
    self.environment = environment
  }

  private enum Input: Sendable {
    case line(String)
    case interrupt
    case end
  }

  /// - Returns: true when the chat cannot continue.
  package func run() async -> Bool {
    let screen = TerminalScreen(history: environment.historyFile, environment: environment.variables)
    let connection = ChatConnection(environment, client: ChatConnection.newClient("terminal"), screen: screen)
    let inputs = Mailbox<Input>()
    do {
      try watchSignals(inputs)
      try screen.begin { line in inputs.post(line.map(Input.line) ?? .end) }
    } catch {
      StandardError.say("pi-relayd: \(error)")
      return true
    }
    screen.say("pi-relay chat: write to the agent; /help shows commands, Ctrl-C interrupts, /quit or Ctrl-D leaves.")
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
            if Self.isFarewell(line) { return }
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

  /// Tells whether a line ends the chat.
  private static func isFarewell(_ line: String) -> Bool {
    ["/quit", "/exit"].contains(line.trimmingWhitespace())
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
