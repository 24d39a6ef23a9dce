import ArgumentParser
internal import LiveUpgrade
import RelayConfig
internal import RelayDaemon
internal import RelayHome
import RelayTransport

struct Start: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Run the daemon, in the foreground unless told otherwise.")

  @Flag(help: "Run in the background and return once it is ready.") var detach = false

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    if detach {
      try await DetachedDaemon(surroundings).start()
      print("pi-relayd runs in the background. Stop it with: \(surroundings.command("stop"))")
      return
    }
    let isDetached = surroundings.environment[DetachedDaemon.marker] != nil
    var options = surroundings.daemonOptions(say: { StandardError.say($0) })
    do {
      options.handover = try Handover.take(surroundings.environment)
    } catch {
      throw surroundings.fail(error)
    }
    // Once it runs, a detached daemon has its log, which is rotated; start.log would grow without limit.
    options.ready = { if isDetached { DetachedDaemon.dropOutput() } }
    let daemon = Daemon(options)
    do {
      try daemon.obeySignals()
      try await daemon.run()
    } catch {
      throw surroundings.fail(error)
    }
  }
}

extension CommandLineEnvironment {
  func daemonOptions(say: @escaping @Sendable (String) -> Void) -> Daemon.Options {
    Daemon.Options(
      home: home, environment: environment, bundledFolder: bundledPlugins,
      guardian: helper("pi-relay-guardian"), demoAgent: helper("pi-relay-demo-agent"),
      loadConfiguration: { [environment, home] in
        try ConfigReader(environment: environment).load(home.configurationCandidates)
      }, say: say)
  }
}
