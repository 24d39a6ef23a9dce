import CLinux
import FoundationEssentials
import Glibc
import PluginRuntime
import ProcessSupervision
import RelayConcurrency
import RelayJSON
import RelayLogging
import RelayText
import RelayTransport
import RelayWire
import TestSupport
import Testing

private func spawn(_ kind: String, guardian: Guardian? = nil) throws -> (ChildProcess, ChildProcess.Pipes) {
  try ChildProcess.spawn(
    .init(
      name: kind, path: Built.executable("misbehaving-child"), arguments: [kind], environment: ["PATH": "/usr/bin"]),
    guardian: guardian)
}

/// Reads a descriptor to its end, and closes it.
private func readAll(_ descriptor: Int32, lines: @escaping @Sendable (String) -> Void = { _ in }) async {
  let (ends, ended) = AsyncStream<Void>.makeStream()
  let reader = LineReader(
    descriptor: descriptor, maximumLineLength: 1 << 20,
    handlers: .init(
      line: { framed in
        switch framed {
        case .line(let bytes): lines(String(decoding: bytes, as: UTF8.self))
        case .unfinished(let bytes): lines("<unfinished \(bytes.count)>")
        default: break
        }
      }, end: { ended.finish() }))
  do {
    try reader.start()
  } catch {
    Issue.record("\(error)")
    return
  }
  for await _ in ends {}
  // Only the test's time limit ends the waiting otherwise.
  if Task.isCancelled { Issue.record("the descriptor was never closed at its other end") }
}

private func waitForFirstLine(_ descriptor: Int32) async {
  let (arrivals, arrival) = AsyncStream<Void>.makeStream()
  let reader = LineReader(
    descriptor: descriptor, maximumLineLength: 1 << 10,
    handlers: .init(line: { _ in arrival.yield() }, end: { arrival.finish() }))
  do { try reader.start() } catch { return }
  for await _ in arrivals { return }
}

private func closeAll(_ pipes: ChildProcess.Pipes) {
  for descriptor in [pipes.input, pipes.output, pipes.error] { _ = close(descriptor) }
}

@Suite(.timeLimit(.minutes(1)), .serialized) struct ChildProcessTests {
  @Test func `an exit is reported with its code and the last lines are read`() async throws {
    let (child, pipes) = try spawn("exits")
    let words = Locked<[String]>([])
    _ = close(pipes.input)
    _ = close(pipes.output)
    await readAll(pipes.error) { line in words.withLock { $0.append(line) } }
    #expect(await child.exit() == .exited(3))
    #expect(words.withLock { $0 } == ["no reason at all"])
  }

  @Test func `a child that ignores SIGTERM is killed`() async throws {
    let (child, pipes) = try spawn("stubborn")
    _ = close(pipes.input)
    _ = close(pipes.error)
    await waitForFirstLine(pipes.output)
    let exit = await child.tearDown([.terminate(then: .milliseconds(50))], clock: ContinuousClock())
    #expect(exit == .signaled(SIGKILL))
  }

  @Test func `a grandchild does not outlive its group's leader`() async throws {
    let (child, pipes) = try spawn("grandchild")
    _ = close(pipes.input)
    _ = close(pipes.error)
    // The grandchild holds the output open: its end comes only with the grandchild's.
    await readAll(pipes.output)
    #expect(await child.exit() == .exited(0))
  }

  @Test func `half a line at the end is told apart`() async throws {
    let (child, pipes) = try spawn("half")
    _ = close(pipes.input)
    _ = close(pipes.error)
    let lines = Locked<[String]>([])
    await readAll(pipes.output) { line in lines.withLock { $0.append(line) } }
    _ = await child.exit()
    #expect(lines.withLock { $0 } == ["<unfinished 8>"])
  }

  /// The open descriptors of processes that are gone: other tests that run meanwhile leave none, so that few are allowed.
  private func descriptorsOfReapedProcesses() -> Int {
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo")) ?? []
    return numbers.count { number in
      (try? String(contentsOfFile: "/proc/self/fdinfo/\(number)", encoding: .utf8))?.contains("Pid:\t-1") == true
    }
  }

  @Test func `a thousand exits leave no zombie and no descriptor`() async throws {
    // The first child is not counted, because it opens descriptors that stay.
    let (first, firstPipes) = try spawn("exits")
    closeAll(firstPipes)
    _ = await first.exit()
    let before = relay_open_descriptors()
    let reaped = descriptorsOfReapedProcesses()
    for _ in 0..<100 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<10 {
          group.addTask {
            let (child, pipes) = try spawn("exits")
            closeAll(pipes)
            _ = await child.exit()
          }
        }
        try await group.waitForAll()
      }
    }
    // The loop closes a descriptor a moment after its last event.
    await withCheckedContinuation { continuation in EventLoop.shared.perform { continuation.resume() } }
    // One descriptor for each exit would be a thousand more; other tests of this process open and close some hundreds meanwhile.
    #expect(relay_open_descriptors() < before + 800)
    #expect(descriptorsOfReapedProcesses() <= reaped + 2)
    var status: Int32 = 0
    #expect(waitpid(-1, &status, WNOHANG) <= 0)
  }

  @Test func `a file that cannot be started is reported with the reason and the remedy`() async throws {
    let folder = try TemporaryFolder()
    let plain = try folder.write("plain", "#!/bin/sh\n")
    let script = try folder.write("script", "#!/no/such/interpreter\n", executable: true)
    let python = try folder.write("python", "#!/usr/bin/env no-such-python\n", executable: true)
    func problem(_ path: String, directory: String? = nil) -> String {
      do {
        let (child, pipes) = try ChildProcess.spawn(
          .init(name: "x", path: path, environment: [:], directory: directory), guardian: nil)
        closeAll(pipes)
        child.signal(SIGKILL)
        return "started"
      } catch {
        return "\(error)"
      }
    }
    // A process that another test has just begun holds what was written here until it runs its own program.
    for path in [script, python] { while problem(path).contains("is still being written") { await Task.yield() } }
    #expect(problem(folder.path + "/nothing") == "\(folder.path)/nothing does not exist")
    #expect(problem(plain) == "\(plain) is not executable; run: chmod +x \(plain)")
    #expect(problem(folder.path).contains("is a folder"))
    #expect(
      problem(script)
        == "\(script) needs /no/such/interpreter (its first line says so), which is not installed; install it"
    )
    // env itself exists, so the script starts and fails; its last line has the name.
    #expect(problem(python) == "started")
    #expect(problem("/bin/true", directory: "/no/such").contains("the working directory /no/such does not exist"))
  }
}

@Suite struct RestartPolicyTests {
  private func delays(_ ends: [(at: Int, uptime: Int, worked: Bool)], random: Double = 0) -> [RestartPolicy.Decision] {
    let policy = RestartPolicy()
    var history = RestartPolicy.History()
    return ends.map {
      policy.next(
        &history, now: .seconds($0.at), uptime: .seconds($0.uptime), worked: $0.worked, random: random)
    }
  }

  @Test func `the first restart is immediate, the next ones wait longer and longer`() {
    let decisions = delays([(0, 100, false), (100, 1, false), (200, 1, false), (300, 1, false), (400, 1, false)])
    #expect(
      decisions.map(\.delay) == [.zero, .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2)])
    #expect(decisions.allSatisfy { !$0.failing })
  }

  @Test func `waiting never exceeds a minute and never ends`() {
    let decisions = delays((0..<100).map { ($0 * 1_000, 1, false) })
    #expect(decisions.last?.delay == .seconds(60))
  }

  @Test func `five exits within a minute mean failing, at the longest wait`() {
    let decisions = delays((0..<6).map { ($0, 1, false) })
    #expect(decisions.map(\.failing) == [false, false, false, false, true, true])
    #expect(decisions[4].delay == .seconds(60))
  }

  @Test func `only a process that worked resets the count of failures`() {
    #expect(delays([(0, 1, false), (10, 1, false), (100, 70, true)]).last?.delay == .zero)
    #expect(delays([(0, 1, false), (10, 1, false), (100, 70, false)]).last?.delay == .milliseconds(500))
    #expect(delays([(0, 1, false), (10, 1, false), (100, 50, true)]).last?.delay == .milliseconds(500))
  }

  @Test func `jitter only shortens`() {
    let decisions = delays([(0, 1, false), (100, 1, false)], random: 1)
    #expect(decisions[1].delay == .milliseconds(187.5))
  }
}

@Suite struct LogFileTests {
  @Test func `a log is started again at its size limit and old ones are kept`() throws {
    let folder = try TemporaryFolder()
    var limits = LogFile.Limits()
    limits.maximumBytes = 1_000
    limits.keep = 2
    let log = LogFile(path: folder.path + "/a.log", limits: limits)
    for number in 0..<100 { log.write("line \(number)") }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(names == ["a.log", "a.log.1", "a.log.2"])
    #expect(folder.read("a.log").hasSuffix("line 99\n"))
    #expect(folder.read("a.log").utf8.count <= 1_000)
  }

  @Test func `a disk that takes no lines is reported once, and once when it takes lines again`() throws {
    let told = Locked<[String]>([])
    let log = LogFile(path: "/dev/full", limits: .init()) { line in told.withLock { $0.append(line) } }
    for _ in 0..<3 { log.write("x") }
    #expect(told.withLock { $0 }.count == 1)
    #expect(told.withLock { $0 }.first?.contains("No space left on device") == true)
  }
}

@Suite struct DiscoveryTests {
  @Test func `a file that is not a plugin is reported, and a name is used once`() throws {
    let folder = try TemporaryFolder()
    try folder.write("good.py", "#!/bin/sh\n", executable: true)
    try folder.write("good.sh", "#!/bin/sh\n", executable: true)
    try folder.write("plain", "x")
    try folder.write("empty", "", executable: true)
    try folder.write("Bad Name", "#!/bin/sh\n", executable: true)
    try folder.write("copying.part", "#!/bin/sh\n", executable: true)
    try folder.write(".hidden", "#!/bin/sh\n", executable: true)
    try FileManager.default.createDirectory(atPath: folder.path + "/folder", withIntermediateDirectories: false)
    symlink("/nowhere", folder.path + "/dangling")
    let result = PluginDiscovery(bundledFolder: nil, droppedFolder: folder.path).scan()
    #expect(result.plugins.map(\.name) == ["good"])
    #expect(result.plugins.first?.path == folder.path + "/good.py")
    #expect(result.problems.count == 6)
    #expect(
      result.problems.contains("plugins/good.sh is ignored: \(folder.path)/good.py has the name \"good\" already"))
    #expect(result.problems.contains("plugins/plain is not executable; run: chmod +x \(folder.path)/plain"))
    #expect(result.problems.contains { $0.contains("plugins/folder is not a file") })
  }

  @Test func `a plugin in the plugins folder goes before the bundled one`() throws {
    let folder = try TemporaryFolder()
    try folder.write("formatter", "#!/bin/sh\n", executable: true)
    let result = PluginDiscovery(bundledFolder: Built.folder, droppedFolder: folder.path).scan()
    #expect(result.plugins.first { $0.name == "formatter" }?.origin == .dropped)
    #expect(!result.plugins.contains { $0.name == "guardian" || $0.name == "demo-agent" })
  }
}

@Suite struct TextSanitizerTests {
  @Test func `names become one short line without invisible characters`() {
    #expect(TextSanitizer.line("Ann\u{202E}\u{0000}\nSmith\u{200B}") == "Ann Smith")
    #expect(TextSanitizer.line(String(repeating: "x", count: 100)).count == 48)
    #expect(TextSanitizer.line("  a \t\r\n b  ") == "a b")
    #expect(TextSanitizer.line("👨‍👩‍👧 ok") == "👨‍👩‍👧 ok")
  }
}

@Suite struct PlainTextTests {
  @Test func `a text is split within the limit and complete`() {
    let text = (0..<400).map { "word\($0)" + ($0 % 17 == 0 ? "\n" : " ") }.joined()
    let pieces = PlainText.split(text, limit: 100, unit: .utf16)
    #expect(pieces.allSatisfy { $0.text.utf16.count <= 100 })
    #expect(pieces.map(\.text).joined() == text)
    #expect(pieces.last?.consumed == text.utf8.count)
    #expect(PlainText.split("", limit: 100, unit: .utf8).isEmpty)
  }
}
