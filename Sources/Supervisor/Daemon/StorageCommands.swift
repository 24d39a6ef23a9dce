import ArgumentParser
internal import RelayHome
import RelayStore
import RelayTransport

struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the state into a new file; the daemon keeps running.")
  @Argument(help: "The file to write; it must not exist.") var file: String

  func run() throws {
    do {
      let home = CommandLineEnvironment().home
      try SQLiteStore.backUp(home.database, to: file, isInUse: DaemonLock.isHeld(home))
      print("The state is in \(file).")
    } catch {
      StandardError.say("pi-relayd: \(error)")
      throw ExitStatus.failed
    }
  }
}

struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Take the state from a backup.",
    discussion: "A daemon that runs is ended in good order and started again. The earlier state is kept beside it.")
  @Argument(help: "A file that `pi-relayd backup` wrote.") var file: String

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    do {
      try surroundings.home.prepare()
      let backup = try StoredBackup(file, for: surroundings.home.database)
      let isRunning = surroundings.connect() != nil
      if isRunning { try await Stop.stop(surroundings) }
      let lock = try DaemonLock(surroundings.home)
      let aside = try withExtendedLifetime(lock) { try backup.putInPlace(stamp: Salvage.stamp()) }
      print("The state is that of \(file)." + (aside.map { " The earlier state is in \($0)." } ?? ""))
      lock.release()
      if isRunning {
        try await DetachedDaemon(surroundings).start()
        print("pi-relayd is running again.")
      }
    } catch let exit as ExitCode {
      throw exit
    } catch {
      StandardError.say("pi-relayd: \(error)")
      throw ExitStatus.failed
    }
  }
}

extension Doctor {
  /// Puts a damaged database aside and saves what can be read of it.
  static func repairDatabase(_ surroundings: CommandLineEnvironment) throws {
    do {
      try surroundings.home.prepare()
      let lock = try DaemonLock(surroundings.home)
      defer { lock.release() }
      let report = try Salvage.repair(surroundings.home.database, stamp: Salvage.stamp())
      print("The damaged files are in \(report.aside). Saved:")
      for (table, count) in report.rows { print("  \(table): \(count)") }
    } catch {
      StandardError.say("pi-relayd: \(error)")
      throw ExitStatus.failed
    }
  }
}
