internal import RelayHome
internal import RelayJSON
internal import RelayWire

extension ConformanceSubject {
  enum Greeting {
    case ready(InitializeReply)
    case wantsConfiguration
    case failed(String)
  }

  /// Sends `initialize`. A process in which that fails is ended.
  func greet(state: JSONValue? = nil) async -> Greeting {
    let request = InitializeRequest(
      protocolVersions: [1, 9_999], host: HostDescription(name: "conformance kit", version: Product.version),
      instance: "check", config: launch.config, state: state, dataDir: launch.folder, spoolDir: launch.folder)
    do {
      switch try await answer(to: request) {
      case .result(let about): return .ready(about)
      case .unreadable(let problem): return .failed(problem)
      case .refused(let refusal): return Self.judge(refusal)
      }
    } catch {
      return .failed(await explain(error))
    }
  }

  private static func judge(_ refusal: WireError) -> Greeting {
    guard refusal.code == .configuration else {
      return .failed("initialize failed with \(refusal.code.rawValue): \(refusal.message)")
    }
    let problems = refusal.data.flatMap { try? JSONCoding.convert($0, to: [ConfigurationProblem].self) }
    return problems == nil
      ? .failed("initialize: its configuration error has no data of the form [{\"path\":…,\"message\":…}]")
      : .wantsConfiguration
  }

  /// Starts another process, with the state that a store would have.
  ///
  /// - Returns: the failure.
  func startAgain(with state: JSONValue? = nil, _ mood: ConformanceHost.Mood = .stores) async -> String? {
    host.expect(mood)
    do {
      try start()
    } catch {
      return "\(error)"
    }
    switch await greet(state: state) {
    case .ready: return nil
    case .wantsConfiguration: return "it refuses the configuration that it took the first time"
    case .failed(let problem): return problem
    }
  }
}
