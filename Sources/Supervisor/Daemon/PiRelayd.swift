import ArgumentParser
internal import RelayHome

/// The command line.
@main struct PiRelayd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pi-relayd",
    abstract: "Steer your pi coding-agent sessions from chat.",
    discussion: """
      The daemon runs pi children and messenger plugins and connects them. Try it in this terminal with \
      `pi-relayd chat`.

      Exit codes: 0 done, 1 failed, 2 the daemon is not running, 3 the configuration is wrong, 64 wrong usage.
      """,
    version: Product.version,
    subcommands: [
      Chat.self, Setup.self, Start.self, Stop.self, Restart.self, UpgradeCommand.self, UpgradeCheck.self, Reload.self,
      Status.self, Plugins.self, Sessions.self, Send.self, Abort.self, Answer.self, Watch.self, ApprovalsCommand.self,
      Pair.self, Unpair.self, Trusted.self, Untrust.self,
      Logs.self, Backup.self, Restore.self,
      Doctor.self, ConfigCommand.self, InstallService.self,
    ])

  func run() async throws {
    print(
      """
      pi-relayd \(Product.version): steer your pi coding-agent sessions from chat.

        pi-relayd chat              talk to the agent in this terminal
        pi-relayd setup             set up a messenger, to talk to it from elsewhere
        pi-relayd start             run the daemon (--detach: in the background)
        pi-relayd status            see what runs
        pi-relayd watch SESSION     see what happens in a session
        pi-relayd doctor            find out what is missing
        pi-relayd --help            everything else
      """)
  }
}

/// Exit codes of every command.
enum ExitStatus {
  static let failed = ExitCode(1)
  static let notRunning = ExitCode(2)
  static let badConfiguration = ExitCode(3)
}
