internal import ControlServer
import FoundationEssentials
internal import PluginConformance
import RelayConfig
internal import RelayHome
import RelayJSON
internal import RelayModel
import RelayStore
import RelayTransport
import RelayWire

extension Doctor {
  /// Asks each configured messenger whether its configuration works; a messenger without a check is skipped.
  func checkMessengers(
    _ config: Config, _ surroundings: CommandLineEnvironment, _ note: (Bool, String) -> Void
  ) async {
    let installed = MessengerList(surroundings)
    let running = await Self.runningPlugins(surroundings)
    checkProxies([surroundings.environment] + running.values.compactMap(Self.environment), note)
    for messenger in config.messengers where messenger.enabled {
      guard let path = installed.path(of: messenger.kind) else {
        if messenger.isImplied { continue }
        note(false, "\(messenger.name): there is no plugin \(messenger.kind) in \(surroundings.home.plugins)")
        continue
      }
      if messenger.access.admitsNobody { note(false, "\(messenger.name) admits nobody: list people under auth.users") }
      do {
        let environment = running[messenger.name].flatMap(Self.environment) ?? surroundings.environment
        let trial = try PluginProbe(path: path, environment: environment, folder: surroundings.home.path)
        var state: JSONValue?
        // Without a running daemon, reading would change the database. A database that cannot be read is reported
        // elsewhere.
        if DaemonLock.isHeld(surroundings.home) {
          do { state = try SQLiteStore.keptState(of: messenger.name, in: surroundings.home.database) } catch {}
        }
        await check(messenger, state, trial, note)
        await trial.end()
      } catch {
        note(false, "\(messenger.name): \(error)")
      }
    }
  }

  /// Names the variables that hold a proxy which cannot be used.
  private func checkProxies(_ environments: [[String: String]], _ note: (Bool, String) -> Void) {
    let findings = environments.flatMap { environment in
      ProxyAddress.variables.compactMap { _, names -> String? in
        guard let name = names.first(where: { environment[$0]?.isEmpty == false }) else { return nil }
        return ProxyAddress.problem(with: environment[name] ?? "").map { "\(name): \($0)" }
      }
    }
    for finding in Set(findings).sorted() { note(false, finding) }
  }

  /// Process ids by instance; empty when no daemon answers, which is reported elsewhere.
  private static func runningPlugins(_ surroundings: CommandLineEnvironment) async -> [String: Int32] {
    guard let peer = surroundings.connect() else { return [:] }
    defer { peer.close() }
    guard let status = try? await peer.request(ControlStatus(), within: .seconds(30)) else { return [:] }
    return Dictionary(status.plugins.compactMap { plugin in plugin.pid.map { (plugin.name, $0) } }) { $1 }
  }

  /// The environment of a running plugin: the daemon may have been started with other proxies than this command.
  private static func environment(of pid: Int32) -> [String: String]? {
    guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/environ"), !data.isEmpty else { return nil }
    return data.split(separator: 0).reduce(into: [:]) { environment, entry in
      let parts = String(decoding: entry, as: UTF8.self).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { environment[String(parts[0])] = String(parts[1]) }
    }
  }

  private func check(
    _ messenger: Config.Messenger, _ state: JSONValue?, _ trial: PluginProbe, _ note: (Bool, String) -> Void
  ) async {
    do {
      let request = CheckRequest(config: messenger.settings, state: state)
      let reply = try await trial.peer.request(request, within: .seconds(60))
      for finding in reply.findings { note(finding.isGood, "\(messenger.name): \(finding.text)") }
    } catch {
      // A plugin that does not know the request cannot say.
      if case .refused(let refusal) = error, [.methodNotFound, .invalidRequest].contains(refusal.code) { return }
      note(false, "\(messenger.name) could not be checked: \(error)")
    }
  }
}
