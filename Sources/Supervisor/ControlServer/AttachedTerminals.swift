internal import Logging
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayHome
internal import RelayJSON
internal import RelayLogging
internal import RelayModel
internal import RelayTransport
internal import RelayWire

/// Connections that have become messengers: terminals of the daemon's own user.
final class AttachedTerminals: Sendable {
  private struct State {
    var names: Set<String> = []
    var links: [String: PluginConnection] = [:]
  }

  private let home: HomeDirectory
  private let audience: any PluginEventHandler
  private let logger: Logger
  private let state = Locked(State())

  init(home: HomeDirectory, audience: any PluginEventHandler, logger: Logger) {
    self.home = home
    self.audience = audience
    self.logger = logger
  }

  /// The problems that terminals have reported.
  var problems: [String] {
    let links = state.withLock { Array($0.links.values) }
    return links.compactMap { link in link.problem.map { "\(link.name): \($0)" } }.sorted()
  }

  /// Serves a connection as a messenger until it ends.
  func attach(_ request: IncomingRequest, _ peer: JSONRPCConnection) async {
    let name: String
    do throws(WireError) {
      name = try reserve(try request.params(ControlAttach.self).client)
    } catch {
      return request.fail(error)
    }
    defer { state.withLock { _ = $0.names.remove(name) } }
    request.reply(Empty())
    do {
      let link = try await greet(name, peer)
      state.withLock { $0.links[name] = link }
      defer { state.withLock { _ = $0.links.removeValue(forKey: name) } }
      await audience.connected(link)
      for await request in peer.requests { await audience.received(request, from: link) }
      await audience.disconnected(link)
    } catch {
      logger.with("instance", name).warning("it could not be attached: \(error)")
    }
  }

  /// - Returns: the name of the instance, which is the client's from now on.
  private func reserve(_ client: String) throws(WireError) -> String {
    guard PluginDiscovery.isValid(client) else {
      throw WireError(.invalidParams, "client: 1 to 32 of a–z, 0–9, - and _")
    }
    let name = "\(ConversationKey.terminalPrefix)\(client)"
    guard state.withLock({ $0.names.insert(name).inserted }) else {
      throw WireError(.invalidRequest, "\(name) is attached already")
    }
    return name
  }

  private func greet(_ name: String, _ peer: JSONRPCConnection) async throws -> PluginConnection {
    let spool = home.spool(name)
    let data = home.data(name)
    try home.makePrivate(spool)
    try home.makePrivate(data)
    let about = try await peer.request(
      InitializeRequest(
        host: HostDescription(name: "pi-relayd", version: Product.version), instance: name, config: .object([:]),
        dataDir: data, spoolDir: spool),
      within: PluginSupervisor.handshakeLimit)
    let logger = logger.with("instance", name)
    let client = String(name.dropFirst(ConversationKey.terminalPrefix.count))
    return PluginConnection(
      name: name, about: about, messenger: Config.Messenger(kind: "attached", instance: client),
      spoolFolder: spool, isLocal: true, peer: peer,
      hung: { [weak peer] why in
        logger.warning("it is detached: \(why)")
        peer?.close()
      }, logger: logger)
  }
}
