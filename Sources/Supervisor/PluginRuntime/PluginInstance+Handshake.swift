internal import Glibc
internal import RelayConcurrency
internal import RelayConfig
internal import RelayHome
internal import RelayStore
internal import RelayTransport
internal import RelayWire

// The handshake, and what is said when it fails.
extension PluginInstance {
  enum Greeting: Sendable {
    case success(PluginLink)
    case failure(Ending)
  }

  func greet(_ life: Life, data: String, spool: String) async -> Greeting {
    let state: JSONValue?
    do {
      state = try await dependencies.store.pluginState(of: name)
    } catch {
      return .failure(.failed("its state could not be read: \(error)", worked: false))
    }
    let request = InitializeRequest(
      host: HostDescription(name: "pi-relayd", version: Product.version), instance: name,
      config: specification.settings, state: state, dataDir: data, spoolDir: spool)
    do {
      let about = try await life.peer.request(request, within: Self.handshakeLimit)
      if let junk = life.junk.withLock({ $0 }) { return .failure(.failed(Self.junkExplanation(junk), worked: false)) }
      guard ProtocolVersion.supported.contains(about.protocolVersion) else {
        return .failure(
          .misconfigured(
            "it speaks protocol version \(about.protocolVersion), this pi-relayd \(ProtocolVersion.supported); "
              + "install a matching version of one of them"))
      }
      return .success(makeLink(about, life, spool: spool))
    } catch {
      return .failure(await explain(error, life))
    }
  }

  func makeLink(_ about: InitializeReply, _ life: Life, spool: String) -> PluginLink {
    PluginLink(
      name: name, about: about, messenger: about.kinds.contains(.messenger) ? messenger : nil,
      spoolFolder: spool, isLocal: false, peer: life.peer,
      hung: { [weak life] in life?.stop(because: $0) }, log: dependencies.log)
  }

  private var messenger: Config.Messenger {
    if let messenger = specification.messenger { return messenger }
    return Config.Messenger(kind: specification.executable.name, instance: "default")
  }

  private static func junkExplanation(_ junk: String) -> String {
    "it printed \(junk.debugDescription) on standard output before the handshake; standard output is for the protocol, "
      + "logs belong on standard error"
  }

  private func explain(_ error: ConnectionError, _ life: Life) async -> Ending {
    if case .refused(let refusal) = error, refusal.code == .configuration {
      let problems = refusal.data.flatMap { try? JSONCoding.convert($0, to: [ConfigurationProblem].self) } ?? []
      let text =
        problems.isEmpty ? refusal.message : problems.map(describe).joined(separator: "; ")
      return specification.isConfigured ? .misconfigured(text) : .unconfigured(text)
    }
    if let junk = life.junk.withLock({ $0 }) { return .failed(Self.junkExplanation(junk), worked: false) }
    switch error {
    case .timedOut:
      return .failed(
        "it did not answer the handshake within \(Self.handshakeLimit.forPeople), and was stopped", worked: false)
    case .closed, .notSent:
      // It has closed its output; give it a moment to end, so that the message can say how.
      let end = await life.explainEnd(within: .seconds(1), clock: dependencies.timekeeper.clock)
      return .failed("\(end) before the handshake", worked: false)
    case .refused: return .failed("it refused the handshake: \(error)", worked: false)
    case .unreadable: return .failed("\(error)", worked: false)
    }
  }

  private func describe(_ problem: ConfigurationProblem) -> String {
    let place = dependencies.locate(name, problem.path).map { "\($0): " } ?? ""
    return "\(place)\(problem.path) \(problem.message)"
  }
}
