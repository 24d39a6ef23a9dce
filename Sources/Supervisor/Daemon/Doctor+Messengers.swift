import RelayConfig
import RelayPipes
import RelayStore
import RelayWire
import Supervisor

extension Doctor {
  /// Asks each configured messenger whether its configuration works; one that cannot say is passed over.
  func checkMessengers(
    _ config: Config, _ surroundings: Surroundings, _ note: (Bool, String) -> Void
  ) async {
    let installed = MessengerList(surroundings)
    for messenger in config.messengers where messenger.enabled {
      guard let path = installed.path(of: messenger.kind) else {
        if messenger.isImplied { continue }
        note(false, "\(messenger.name): there is no plugin \(messenger.kind) in \(surroundings.folders.plugins)")
        continue
      }
      if messenger.access.admitsNobody { note(false, "\(messenger.name) admits nobody: list people under auth.users") }
      do {
        let trial = try PluginTrial(
          path: path, environment: surroundings.environment, folder: surroundings.folders.home)
        var state: JSONValue?
        // With nobody else at it the database would be changed by being read. One that cannot be is told of by itself.
        if DaemonLock.isHeld(surroundings.folders) {
          do { state = try SQLiteStore.keptState(of: messenger.name, in: surroundings.folders.database) } catch {}
        }
        await check(messenger, state, trial, note)
        await trial.end()
      } catch {
        note(false, "\(messenger.name): \(error)")
      }
    }
  }

  private func check(
    _ messenger: Config.Messenger, _ state: JSONValue?, _ trial: PluginTrial, _ note: (Bool, String) -> Void
  ) async {
    do {
      let request = CheckRequest(config: messenger.settings, state: state)
      let reply = try await trial.peer.request(request, within: .seconds(60))
      for finding in reply.findings { note(finding.isGood, "\(messenger.name): \(finding.text)") }
    } catch {
      // One that does not know the request cannot say.
      if case .refused(let refusal) = error, [.methodNotFound, .invalidRequest].contains(refusal.code) { return }
      note(false, "\(messenger.name) could not be checked: \(error)")
    }
  }
}
