import RelayConfig
import RelayPipes
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
        defer { trial.peer.finish() }
        let answer = try await trial.peer.request(CheckRequest(config: messenger.settings), within: .seconds(60))
        for finding in answer.findings { note(finding.isGood, "\(messenger.name): \(finding.text)") }
        await trial.end()
      } catch let error as PeerError {
        if case .refused(let refusal) = error, refusal.code != .methodNotFound, refusal.code != .invalidRequest {
          note(false, "\(messenger.name): \(refusal.message)")
        }
      } catch {
        note(false, "\(messenger.name): \(error)")
      }
    }
  }
}
