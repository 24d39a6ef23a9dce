import RelayConcurrency
import RelayJSON
import RelayTransport
import RelayWire

/// Chat for scripts: messages one after another, each waiting for its answer.
package struct ScriptedChat {
  private let environment: ChatEnvironment
  private let json: Bool

  package init(_ environment: ChatEnvironment, json: Bool) {
    self.environment = environment
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
  package func sayLines() async -> Bool {
    let lines = Mailbox<String>()
    LoopThread.start(name: "relay-stdin") {
      while let line = readLine() { lines.post(line) }
      lines.close()
    }
    return await converse(lines)
  }

  package func say(_ messages: [String]) async -> Bool {
    let lines = Mailbox<String>()
    for message in messages { lines.post(message) }
    lines.close()
    return await converse(lines)
  }

  private func converse(_ lines: Mailbox<String>) async -> Bool {
    let screen = PlainChat(prints: !json, environment: environment.variables)
    let connection = ChatConnection(environment, client: ChatConnection.newClient("lines"), screen: screen)
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
