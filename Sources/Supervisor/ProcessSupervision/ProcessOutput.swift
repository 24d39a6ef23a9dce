internal import RelayConcurrency
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// A program run to its end: its output, and how it ended.
package struct ProcessOutput: Sendable {
  package let exit: TerminationStatus
  package let output: [String]
  package let errors: [String]

  /// A program that could not be started.
  package init(failure: any Error) {
    exit = .exited(127)
    output = []
    errors = ["\(failure)"]
  }

  /// Lines kept of each stream.
  package static let maximumLines = 1_000

  /// - Parameters:
  ///   - input: the input of the process; `nil` for the end of file at once.
  ///   - limit: the time after which the process is ended.
  ///   - until: the input ends at the first line of output for which this returns true.
  package init(
    _ request: ChildProcess.Request, guardian: Guardian?, input: String? = nil, limit: Duration,
    clock: any Clock<Duration>, until: @escaping @Sendable (String) -> Bool = { _ in false }
  ) async throws(SpawnError) {
    var started: (ChildProcess, ChildProcess.Pipes)?
    while started == nil {
      await SpawnGate.shared.wait()
      do {
        started = try ChildProcess.spawn(request, guardian: guardian)
      } catch {
        guard case .postponed = error else { throw error }
      }
    }
    guard let (child, pipes) = started else { throw .postponed(path: request.path) }
    let outbox = Outbox(descriptor: pipes.input, limit: 1 << 16)
    if let input {
      // A child that is gone already reads nothing; its exit says so.
      try? outbox.send(Array(input.utf8))
    } else {
      outbox.finish()
    }
    let output = Locked<[String]>([])
    let errors = Locked<[String]>([])
    let (ends, ended) = AsyncStream<Void>.makeStream()
    let readers = [(pipes.output, output), (pipes.error, errors)].map { descriptor, lines in
      Self.reader(of: descriptor, into: lines) { line in
        if until(line) { outbox.finish() }
      } end: {
        ended.yield()
      }
    }
    for reader in readers { do { try reader.start() } catch { reader.close() } }
    exit = await child.tearDown([.wait(limit)], clock: clock)
    // The last output may still be on its way; a grandchild that keeps the pipes open is not waited for.
    try? await withDeadline(.seconds(1), clock: clock) {
      var open = readers.count
      for await _ in ends {
        open -= 1
        if open == 0 { return }
      }
    }
    for reader in readers { reader.close() }
    self.output = output.withLock { $0 }
    self.errors = errors.withLock { $0 }
  }

  private static func reader(
    of descriptor: Int32, into lines: Locked<[String]>, line tell: @escaping @Sendable (String) -> Void,
    end: @escaping @Sendable () -> Void
  ) -> LineReader {
    LineReader(
      descriptor: descriptor, maximumLineLength: 1 << 20,
      handlers: .init(
        line: { framed in
          guard case .line(let bytes) = framed else { return }
          let line = String(decoding: bytes, as: UTF8.self)
          lines.withLock { if $0.count < maximumLines { $0.append(line) } }
          tell(line)
        }, end: end))
  }
}
