import FoundationEssentials
import MessengerKit
import PluginSDK
import PluginTestKit
import RelayConcurrency
import Testing

/// A messenger whose service is away once, and then needs a person.
private struct Flaky: Plugin {
  static let name = "flaky"
  private let problems: ProblemReports
  private let lives = Locked(0)
  let capabilities = Capabilities.messenger(maximumTextLength: 100)

  init(_ host: Host) { problems = ProblemReports(host, beginningWith: "not connected yet") }

  func run() async throws {
    try await StayingConnected.run(report: { await problems.take($0, of: "Flaky") }) { isOfUse in
      let life = lives.withLock { lives in
        lives += 1
        return lives
      }
      if life == 1 { throw ConnectionEnding("no route") }
      if life == 3 { throw ConnectionEnding("the password is wrong", isRefusal: true) }
      isOfUse()
      await problems.tell(nil)
      await problems.tell(nil)
      return ConnectionEnding("it hung up")
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct ConnectedTests {
  @Test func `a problem and its end are reported once, and a problem that only a person can mend says so`() async throws
  {
    let harness = try PluginHarness<Flaky>()
    #expect(try await harness.start().problem == "not connected yet")
    var told: [String?] = []
    for await problem in harness.problems {
      told.append(problem)
      if told.count == 4 { break }
    }
    #expect(
      told == [
        "not connected to Flaky: no route", nil, "not connected to Flaky: it hung up",
        "not connected to Flaky: the password is wrong. Tried again in 10 min; at once with: pi-relayd plugins restart flaky/test",
      ])
    await harness.stop()
  }

  @Test func `whoever gives up ends it, with their own error`() async {
    struct GaveUp: Error {}
    await #expect(throws: GaveUp.self) {
      try await StayingConnected.run(report: { step in
        #expect(step.report == .problem("closed"))
        throw GaveUp()
      }) { _ in ConnectionEnding("closed") }
    }
  }

  @Test func `typing is repeated while it lasts, and sent at once after a message`() async {
    let shown = Mailbox<String>()
    let typing = TypingIndicator(renewal: .milliseconds(5), show: { shown.post($0) })
    await typing.set(true, in: "c")
    for _ in 0..<3 { #expect(await shown.next() == "c") }
    await typing.interrupted(in: "c")
    #expect(await shown.next() == "c")
    await typing.end()
    await typing.interrupted(in: "c")
  }

  @Test func `a file without a name gets one, and one that is too large is reported with its size`() throws {
    let path = "/tmp/pi-relay-outgoing-\(UInt64.random(in: 0 ... .max))"
    try Data(repeating: 0, count: 2_048).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let file = OutgoingFile(FileSend(key: "k", conversation: "c", path: path, name: ""))
    #expect(file.name == "file" && file.size == 2_048)
    try file.check(limit: 2_048, at: "Chat")
    #expect(throws: DeliveryFailure.tooLarge("file has 2 KiB, which is more than Chat takes here")) {
      try file.check(limit: 2_047, at: "Chat")
    }
    #expect(OutgoingFile(FileSend(key: "k", conversation: "c", path: path + "-gone", name: "x")).size == 0)
  }

  @Test func `each folder is an installation of its own with a constant mark`() {
    let (one, other) = (InstallationMark(folder: "/a"), InstallationMark(folder: "/b"))
    #expect(one == InstallationMark(folder: "/a") && one != other)
    #expect(one.description.count == InstallationMark.length)
  }

  @Test func `a failed request is repeated as often as asked`() async throws {
    var tries = 0
    let never: Int? = try await Tries(3, first: .milliseconds(1)).run {
      tries += 1
      return nil
    }
    #expect(never == nil && tries == 3)
    #expect(try await Tries(3, first: .seconds(60)).run { 7 } == 7)
  }
}
