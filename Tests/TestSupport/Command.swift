import FoundationEssentials
import Glibc
internal import RelayPipes
internal import RelayWire
package import Supervisor

/// A program run to its end: what it said, and how it ended.
package struct Command: Sendable {
  package let exit: ChildExit
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

  private static func lines(of descriptor: Int32) async throws -> [String] {
    let (stream, arrival) = AsyncStream<String>.makeStream()
    let reader = LineReader(
      descriptor: descriptor, maximumLineLength: 1 << 20,
      handlers: .init(
        line: { if case .line(let bytes) = $0 { arrival.yield(String(decoding: bytes, as: UTF8.self)) } },
        end: { arrival.finish() }))
    try reader.start()
    return await stream.reduce(into: []) { $0.append($1) }
  }
}
