import FoundationEssentials
import Glibc
import Logging
import RelayConcurrency
import RelayJSON
import RelayLogging
import RelayModel
import RelayStore
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import PluginRuntime
@testable import ProcessSupervision
@testable import RelayHome

/// Answers nothing: these tests use the processes of the plugin only.
private struct Silence: PluginEventHandler {
  let arrivals: Mailbox<PluginConnection>
  let sleepers: Mailbox<@Sendable () -> Void>
  func connected(_ link: PluginConnection) async { arrivals.post(link) }
  func received(_ request: IncomingRequest, from link: PluginConnection) async {}
  func disconnected(_ link: PluginConnection) async {}
  func mayEnd(_ link: PluginConnection, wake: @escaping @Sendable () -> Void) async -> Bool {
    sleepers.post(wake)
    return true
  }
}

@Suite(.timeLimit(.minutes(1))) struct PluginInstanceTests {
  private struct Stage {
    let folder: TemporaryFolder
    let clock = ManualClock()
    let arrivals = Mailbox<PluginConnection>()
    let sleepers = Mailbox<@Sendable () -> Void>()
    let said = Mailbox<String>()
    let instance: PluginSupervisor

    init(_ executable: String, as name: String) throws {
      folder = try TemporaryFolder()
      let home = HomeDirectory(path: folder.path + "/home")
      try home.prepare()
      try FakeMessenger.install(Built.executable(executable), as: home.plugins + "/" + name)
      let found = PluginDiscovery(bundledFolder: nil, droppedFolder: home.plugins).scan()
      let said = said
      let clock = clock
      instance = PluginSupervisor(
        PluginSpecification(
          name: name, executable: try #require(found.plugins.first), settings: .object([:]), isConfigured: true,
          messenger: nil),
        PluginDependencies(
          home: home, guardian: nil, environment: ["PATH": "/usr/bin:/bin"],
          store: try SQLiteStore(path: home.database), timeSource: TimeSource(clock: clock),
          restart: RestartPolicy(), logLimits: .init(), audience: Silence(arrivals: arrivals, sleepers: sleepers),
          logger: .lines { said.post($0) }))
    }

    /// Waits for a line of the log that holds `text`.
    @discardableResult
    func waitFor(_ text: String) async -> String {
      while let line = await said.next() { if line.contains(text) { return line } }
      return ""
    }

    /// Lets time pass whenever somebody waits for it.
    func move(by step: Duration) -> Task<Void, Never> {
      Task { [clock] in
        while !Task.isCancelled {
          await clock.sleepers(1)
          clock.advance(by: step)
          await Task.yield()
        }
      }
    }

    func run(_ body: () async throws -> Void) async throws {
      let running = Task { [instance] in await instance.run() }
      try await body()
      // Delays on the way out are let go at once.
      let stopping = Task { [instance] in await instance.stop() }
      let moving = move(by: .seconds(60))
      await stopping.value
      await running.value
      moving.cancel()
    }
  }

  @Test func `a plugin that never answers the handshake is killed and named`() async throws {
    let stage = try Stage("misbehaving-child", as: "x-silent")
    try await stage.run {
      await stage.clock.sleepers(1)
      stage.clock.advance(by: .seconds(10))
      // Its ending has time limits of its own.
      await stage.clock.sleepers(1)
      let line = await stage.waitFor("did not answer the handshake within 10")
      #expect(line.contains(", and was stopped;") && !line.contains("ended"), "\(line)")
    }
  }

  @Test func `a plugin that closes its output and keeps running is not reported as ended`() async throws {
    let stage = try Stage("misbehaving-child", as: "x-closes")
    try await stage.run {
      _ = await stage.arrivals.next()
      let moving = stage.move(by: .seconds(1))
      let line = await stage.waitFor("closed its standard output")
      moving.cancel()
      #expect(line.hasPrefix("x-closes: it closed its standard output, and was stopped;"), "\(line)")
    }
  }

  @Test func `a stopped plugin is noticed by its silence, killed and started again`() async throws {
    let stage = try Stage("misbehaving-child", as: "x-renderer")
    try await stage.run {
      let first = try #require(await stage.arrivals.next())
      let pid = try #require(await stage.instance.report().pid)
      kill(pid, SIGSTOP)
      // Quiet for fifteen seconds, no answer to the ping within ten. Other sleepers are about, too.
      let moving = stage.move(by: .seconds(5))
      let line = await stage.waitFor("it did not answer ping within 10")
      #expect(line.contains(", and was stopped;") && !line.contains("ended"), "\(line)")
      moving.cancel()
      let second = try #require(await stage.arrivals.next())
      #expect(second !== first)
    }
  }
  @Test func `a service that nobody needs is stopped, and started again when it is needed`() async throws {
    let stage = try Stage("pi-relay-formatter", as: "formatter")
    try await stage.run {
      let first = try #require(await stage.arrivals.next())
      #expect(await stage.instance.report().pid != nil)
      let moving = stage.move(by: .seconds(1))
      let wake = try #require(await stage.sleepers.next())
      moving.cancel()
      // It may be called before it has ended.
      wake()
      let second = try #require(await stage.arrivals.next())
      #expect(second !== first)
      let request = FormatRender(text: "**bold**", dialect: "discord", limit: 100, unit: .utf16, final: true)
      #expect(try await second.request(request).pieces.map(\.text) == ["**bold**"])
      #expect(await stage.instance.report().restarts == 0)
    }
  }

  @Test func `a sleeping service ends with the daemon, or takes a new configuration`() async throws {
    let stage = try Stage("pi-relay-formatter", as: "formatter")
    try await stage.run {
      _ = await stage.arrivals.next()
      for _ in 0..<2 {
        let moving = stage.move(by: .seconds(1))
        _ = await stage.sleepers.next()
        // A handshake has its time in earnest, but for the last step.
        moving.cancel()
        await stage.instance.restart()
        #expect(await stage.arrivals.next() != nil)
      }
      let moving = stage.move(by: .seconds(1))
      _ = await stage.sleepers.next()
      moving.cancel()
    }
    #expect(await stage.instance.report().state == .stopped)
  }
}
