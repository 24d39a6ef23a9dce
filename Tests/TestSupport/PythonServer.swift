import FoundationEssentials
import Glibc
import ProcessSupervision
internal import RelayConcurrency
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// A server of `Tests/Fixtures`, written in Python.
package final class PythonServer: Sendable {
  /// As it printed them.
  package let ports: [Int]
  private let child: ChildProcess
  private let input: Int32
  private let lines: Locked<[String]>
  private let changes: Mailbox<Void>

  package static var python: String {
    URL(filePath: #filePath).deletingLastPathComponent().path + "/../../.build/peers/bin/python"
  }

  /// Indicates that PyPI's programs are there, which `scripts/setup-peers` installs.
  package static var isThere: Bool { access(python, X_OK) == 0 }

  private init(_ child: ChildProcess, _ input: Int32, _ lines: Locked<[String]>, _ changes: Mailbox<Void>, ports: [Int])
  {
    self.child = child
    self.input = input
    self.lines = lines
    self.changes = changes
    self.ports = ports
  }

  /// - Parameters:
  ///   - name: of its folder.
  ///   - script: the file in it.
  package static func run(
    _ name: String, script: String = "server.py", _ arguments: [String] = [], with python: String = "/usr/bin/env",
    _ body: (PythonServer) async throws -> Void
  ) async throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().path + "/../Fixtures/\(name)/\(script)"
    let interpreter = python == "/usr/bin/env" ? ["python3"] : []
    let (child, pipes) = try ChildProcess.spawn(
      .init(
        name: script, path: python, arguments: interpreter + [path] + arguments,
        environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]),
      guardian: nil)
    let lines = Locked<[String]>([])
    let changes = Mailbox<Void>(merge: { _, _ in true })
    for descriptor in [pipes.output, pipes.error] {
      let reader = LineReader(
        descriptor: descriptor, maximumLineLength: 1 << 16,
        handlers: .init(
          line: { framed in
            guard case .line(let bytes) = framed else { return }
            lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
            changes.post(())
          }, end: { changes.close() }))
      try reader.start()
    }
    var ports: [Int] = []
    while ports.isEmpty {
      guard await changes.next() != nil else {
        throw SystemError("\(name) did not start: \(lines.withLock { $0 })", code: 0)
      }
      ports = lines.withLock { $0.first { $0.hasPrefix("ports ") } }?.split(separator: " ").compactMap { Int($0) } ?? []
    }
    let server = PythonServer(child, pipes.input, lines, changes, ports: ports)
    do { try await body(server) } catch {
      await server.end()
      throw error
    }
    await server.end()
  }

  private func end() async {
    _ = Glibc.close(input)
    await child.tearDown([.terminate(then: .seconds(5))], clock: ContinuousClock())
  }

  /// All that it has printed so far.
  package var printed: [String] { lines.withLock { $0 } }

  /// Waits until what it has printed is enough; answers nil when it has ended before.
  package func wait<Value: Sendable>(for find: ([String]) -> Value?) async -> Value? {
    while true {
      if let value = find(printed) { return value }
      guard await changes.next() != nil else { return find(printed) }
    }
  }

  /// A line to its standard input.
  package func tell(_ line: String) throws {
    let bytes = Array((line + "\n").utf8)
    guard write(input, bytes, bytes.count) == bytes.count else { throw SystemError("the server takes nothing") }
  }

  /// The close code that the raw server received on this path.
  package func closeCode(on path: String) async -> Int? {
    await wait { lines in
      lines.first { $0.hasPrefix("closed \(path) ") }?.split(separator: " ").last.flatMap { Int($0) }
    }
  }
}
