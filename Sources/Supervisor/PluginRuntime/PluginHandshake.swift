internal import RelayConcurrency
internal import RelayConfig
internal import RelayHome
internal import RelayJSON
internal import RelayStore
internal import RelayTransport
internal import RelayWire

/// The handshake with one process, and the explanation when it fails.
struct PluginHandshake: Sendable {
  enum Outcome: Sendable {
    case success(PluginConnection)
    case failure(PluginLifecycle.Ending)
  }

  let specification: PluginSpecification
  let dependencies: PluginDependencies
  /// Time that a plugin has to answer `initialize`.
  let limit: Duration

  private var name: String { specification.name }

  func perform(with process: PluginProcess) async -> Outcome {
    let state: JSONValue?
    do {
      state = try await dependencies.store.pluginState(of: name)
    } catch {
      return .failure(.failed("its state could not be read: \(error)", worked: false))
    }
    let request = InitializeRequest(
      host: HostDescription(name: "pi-relayd", version: Product.version), instance: name,
      config: specification.settings, state: state, dataDir: dependencies.home.data(name),
      spoolDir: dependencies.home.spool(name))
    do {
      let about = try await process.peer.request(request, within: limit)
      if let noise = process.output.firstNoise { return .failure(.failed(Self.explain(noise: noise), worked: false)) }
      guard ProtocolVersion.supported.contains(about.protocolVersion) else {
        return .failure(
          .misconfigured(
            "it speaks protocol version \(about.protocolVersion), this pi-relayd \(ProtocolVersion.supported); "
              + "install a matching version of one of them"))
      }
      return .success(link(about, process))
    } catch {
      return .failure(await explain(error, process))
    }
  }

  /// The way to a process that has introduced itself.
  func link(_ about: InitializeReply, _ process: PluginProcess) -> PluginConnection {
    PluginConnection(
      name: name, about: about, messenger: about.kinds.contains(.messenger) ? messenger : nil,
      spoolFolder: dependencies.home.spool(name), isLocal: false, peer: process.peer,
      hung: { [weak process] in process?.stop(because: $0) }, logger: dependencies.logger(of: name))
  }

  private var messenger: Config.Messenger {
    specification.messenger ?? Config.Messenger(kind: specification.executable.name, instance: "default")
  }

  private static func explain(noise: String) -> String {
    "it printed \(noise.debugDescription) on standard output before the handshake; standard output is for the protocol, "
      + "logs belong on standard error"
  }

  private func explain(_ error: ConnectionError, _ process: PluginProcess) async -> PluginLifecycle.Ending {
    if case .refused(let refusal) = error, refusal.code == .configuration {
      let problems = refusal.data.flatMap { try? JSONCoding.convert($0, to: [ConfigurationProblem].self) } ?? []
      let text =
        problems.isEmpty ? refusal.message : problems.map(describe).joined(separator: "; ")
      return specification.isConfigured ? .misconfigured(text) : .unconfigured(text)
    }
    if let noise = process.output.firstNoise { return .failed(Self.explain(noise: noise), worked: false) }
    switch error {
    case .timedOut:
      return .failed("it did not answer the handshake within \(limit.forPeople), and was stopped", worked: false)
    case .closed, .notSent:
      // It has closed its output; give it a moment to end, so that the message can say how.
      let end = await process.explainEnd(within: .seconds(1), clock: dependencies.timeSource.clock)
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
