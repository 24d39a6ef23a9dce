import FoundationEssentials
import Glibc
package import ProcessSupervision
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// A program run to its end: its output, and its exit.
package struct Command: Sendable {
  package let exit: TerminationStatus
  package let output: [String]
  package let errors: [String]

  package static func run(
    _ path: String, _ arguments: [String], environment: [String: String], input: String = ""
  ) async throws -> Command {
    let (child, pipes) = try ChildProcess.spawn(
      .init(name: path, path: path, arguments: arguments, environment: environment), guardian: nil)
    let outbox = Outbox(descriptor: pipes.input, limit: 1 << 20)
    try? outbox.send(Array(input.utf8))
    outbox.finish()
    async let output = lines(of: pipes.output)
    async let errors = lines(of: pipes.error)
    let exit = await withTaskCancellationHandler {
      await child.exit()
    } onCancel: {
      child.signal(SIGKILL)
    }
    return Command(exit: exit, output: try await output, errors: try await errors)
  }

  /// Runs a program that asks questions: `answer` gets each line of its output, with a way to write one to its input.
  package static func converse(
    _ path: String, _ arguments: [String], environment: [String: String],
    _ answer: @escaping @Sendable (String, (String) -> Void) -> Void
  ) async throws -> Command {
    let (child, pipes) = try ChildProcess.spawn(
      .init(name: path, path: path, arguments: arguments, environment: environment), guardian: nil)
    let outbox = Outbox(descriptor: pipes.input, limit: 1 << 20)
    async let output = lines(of: pipes.output) { line in
      // A program that has left reads no answer; its exit says so.
      answer(line) { try? outbox.send(Array(($0 + "\n").utf8)) }
    }
    async let errors = lines(of: pipes.error)
    let exit = await withTaskCancellationHandler {
      await child.exit()
    } onCancel: {
      child.signal(SIGKILL)
    }
    outbox.finish()
    return Command(exit: exit, output: try await output, errors: try await errors)
  }

  private static func lines(
    of descriptor: Int32, tell: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws -> [String] {
    let (stream, arrival) = AsyncStream<String>.makeStream()
    let reader = LineReader(
      descriptor: descriptor, maximumLineLength: 1 << 20,
      handlers: .init(
        line: { framed in
          guard case .line(let bytes) = framed else { return }
          let line = String(decoding: bytes, as: UTF8.self)
          arrival.yield(line)
          tell(line)
        },
        end: { arrival.finish() }))
    try reader.start()
    return await stream.reduce(into: []) { $0.append($1) }
  }
}
