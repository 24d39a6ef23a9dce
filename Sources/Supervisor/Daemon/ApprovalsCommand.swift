import ArgumentParser
internal import ControlServer
import Glibc
internal import RelayHome
import RelayJSON
internal import RelayModel
import RelayStore

struct ApprovalsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "approvals", abstract: "List the latest approvals of tool calls, or revoke a grant.",
    subcommands: [List.self, Revoke.self], defaultSubcommand: List.self)

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the latest steps of approvals, and the grants for all sessions.")
    @Flag(help: "Print JSON.") var json = false

    private struct Listing: Encodable {
      var events: [ApprovalEvent]
      var grants: [ApprovalText.Grant]
    }

    func run() async throws {
      let (events, grants) = try await ApprovalsCommand.read(CommandLineEnvironment())
      if json {
        let listing = Listing(events: events, grants: grants.map(ApprovalText.Grant.init))
        return print(String(decoding: try JSONCoding.encode(listing, sorted: true), as: UTF8.self))
      }
      for line in ApprovalText.lines(events, grants) { print(line) }
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Revoke a grant for all sessions.")
    @Argument(help: "Its id, as `pi-relayd approvals` shows it.") var id: String

    func run() async throws {
      _ = try await CommandLineEnvironment().ask(ControlRevokeGrant(grant: id))
      print("\(id) is revoked: the call is asked about again.")
    }
  }

  /// As many steps as a configuration may keep.
  private static let maximumSteps = 1_000

  /// Without a daemon the database is opened as a daemon does, which looks at its log first.
  private static func read(
    _ surroundings: CommandLineEnvironment
  ) async throws -> (events: [ApprovalEvent], grants: [ApprovalGrant]) {
    let (home, now) = (surroundings.home, Double(time(nil)))
    do {
      let read: (events: [ApprovalEvent], grants: [ApprovalGrant])
      if access(home.database, F_OK) != 0 { return ([], []) }
      if DaemonLock.isHeld(home) {
        read = try SQLiteStore.approvals(in: home.database, last: maximumSteps)
      } else {
        let lock = try DaemonLock(home)
        defer { lock.release() }
        let store = try SQLiteStore(path: home.database)
        read = (try await store.approvalEvents(last: maximumSteps), try await store.persistentGrants(now: now))
        await store.close()
      }
      return (read.events, read.grants.filter { $0.isValid(at: now) })
    } catch {
      throw surroundings.fail(error)
    }
  }
}
