internal import AgentRuntime
import ArgumentParser
import FoundationEssentials
import Glibc
internal import ProcessSupervision
import RelayConfig
internal import RelayHome
internal import RelayJSON
import RelayTransport
import RelayWire

struct InstallService: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Let systemd run the daemon for your user.",
    discussion: "Writes ~/.config/systemd/user/pi-relayd.service, enables it and starts it.")

  @Flag(help: "Print the unit instead of installing it.") var print = false

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    let config: Config
    do {
      config = try ConfigReader(environment: surroundings.environment).load(
        surroundings.home.configurationCandidates
      ).config
    } catch {
      throw surroundings.fail(error)
    }
    let unit = Self.unit(
      program: "\(surroundings.programs)/pi-relayd", home: surroundings.home.path,
      stopSeconds: config.shutdown.maximumDuration.components.seconds)
    if self.print { return Swift.print(unit, terminator: "") }
    // systemd's own test for whether it is what runs this machine (sd_booted).
    guard access("/run/systemd/system", F_OK) == 0 else {
      StandardError.say("systemd does not run here. Run the daemon with: pi-relayd start --detach")
      throw ExitStatus.failed
    }
    let folder = (surroundings.environment["HOME"] ?? "/") + "/.config/systemd/user"
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(unit.utf8).write(to: URL(filePath: "\(folder)/pi-relayd.service"))
    } catch {
      StandardError.say("pi-relayd: \(folder)/pi-relayd.service cannot be written: \(error)")
      throw ExitStatus.failed
    }
    try await systemctl(["--user", "daemon-reload"])
    try await systemctl(["--user", "enable", "--now", "pi-relayd.service"])
    Swift.print("pi-relayd runs as a service of your user. Its log: journalctl --user -u pi-relayd")
    let user = surroundings.environment["USER"] ?? "$USER"
    if access("/var/lib/systemd/linger/\(user)", F_OK) != 0 {
      Swift.print("It ends when you log out. To keep it running: loginctl enable-linger \(user)")
    }
  }

  private func systemctl(_ arguments: [String]) async throws {
    guard let path = AgentLocator.resolve("systemctl", searchPath: "/usr/bin:/bin") else {
      StandardError.say("There is no systemctl. Run the daemon with: pi-relayd start --detach")
      throw ExitStatus.failed
    }
    let (child, pipes) = try ChildProcess.spawn(
      .init(name: "systemctl", path: path, arguments: arguments, environment: ProcessInfo.processInfo.environment),
      guardian: nil)
    for descriptor in [pipes.input, pipes.output] { _ = close(descriptor) }
    let reader = LineReader(
      descriptor: pipes.error, maximumLineLength: 1 << 16,
      handlers: .init(line: {
        if case .line(let bytes) = $0 { StandardError.say(String(decoding: bytes, as: UTF8.self)) }
      }))
    try reader.start()
    guard await child.exit() == .exited(0) else {
      StandardError.say("systemctl \(arguments.joined(separator: " ")) failed")
      throw ExitStatus.failed
    }
  }

  static func unit(program: String, home: String, stopSeconds: Int64) -> String {
    """
    [Unit]
    Description=pi-relay: steer pi coding-agent sessions from chat
    After=network-online.target

    [Service]
    Type=notify
    NotifyAccess=main
    ExecStart="\(program)" start
    ExecReload=/bin/kill -HUP $MAINPID
    Environment="PI_RELAY_HOME=\(home)"
    Restart=on-failure
    RestartSec=1
    WatchdogSec=60
    KillMode=mixed
    TimeoutStopSec=\(stopSeconds)
    UMask=0077

    [Install]
    WantedBy=default.target

    """
  }
}
