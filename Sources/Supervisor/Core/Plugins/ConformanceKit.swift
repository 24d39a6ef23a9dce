internal import Glibc
internal import RelayPipes
package import RelayWire

/// Tries a plugin against the protocol: what a host may do, and what it must get for it.
package struct ConformanceKit: Sendable {
  package struct Result: Sendable, Equatable, Codable {
    package var check: String
    package var passed: Bool
    /// What went wrong, or what could not be tried.
    package var detail: String?
  }

  private let path: String
  private let config: JSONValue
  private let environment: [String: String]
  private let folder: String
  private let clock: any Clock<Duration>

  static let answerLimit: Duration = .seconds(10)

  /// - Parameter folder: an empty folder of the caller's, for the plugin's data and spool.
  package init(
    path: String, config: JSONValue, environment: [String: String], folder: String,
    clock: any Clock<Duration> = LoopClock.shared
  ) {
    self.path = path
    self.config = config
    self.environment = environment
    self.folder = folder
    self.clock = clock
  }

  /// Runs every check, telling each result as it is known. Answers whether all passed.
  package func run(_ tell: (Result) -> Void) async -> Bool {
    var allPassed = true
    func note(_ check: String, _ problem: String?) {
      tell(Result(check: check, passed: problem == nil, detail: problem))
      if problem != nil { allPassed = false }
    }
    let life: PluginTrial
    do {
      life = try PluginTrial(path: path, environment: environment, folder: folder, clock: clock)
    } catch {
      note("starts", "\(error)")
      return false
    }
    note("starts", nil)
    let greeting = await greet(life)
    note("answers initialize within 10 s", greeting.problem)
    if let about = greeting.about {
      note("speaks protocol version 1", about.protocolVersion == 1 ? nil : "it says \(about.protocolVersion)")
      note("says its name, version and a known kind", Self.problem(of: about))
      for (check, body) in checks(about) { note(check, await body(life)) }
    } else if greeting.isConfigurationError {
      tell(
        Result(
          check: "the other checks", passed: true,
          detail: "not tried: it wants a configuration; give one with --config"))
    }
    note("leaves within 5 s of end of input", await leaves(life))
    note("says nothing on standard output but the protocol", life.oddities.withLock { $0.first })
    return allPassed
  }

  private struct Greeting {
    var about: InitializeReply?
    var problem: String?
    var isConfigurationError = false
  }

  private func greet(_ life: PluginTrial) async -> Greeting {
    let request = InitializeRequest(
      protocolVersions: [1, 9_999], host: HostDescription(name: "conformance kit", version: Product.version),
      instance: "check", config: config, dataDir: folder, spoolDir: folder)
    do {
      return Greeting(about: try await life.peer.request(request, within: Self.answerLimit))
    } catch .refused(let refusal) {
      guard refusal.code == .configuration else { return Greeting(problem: "it refused: \(refusal.message)") }
      let problems = refusal.data.flatMap { try? JSONCoding.convert($0, to: [ConfigurationProblem].self) }
      guard problems != nil else {
        return Greeting(problem: "its configuration error has no data of the form [{\"path\":…,\"message\":…}]")
      }
      return Greeting(isConfigurationError: true)
    } catch {
      return Greeting(problem: "\(error)")
    }
  }

  private static func problem(of about: InitializeReply) -> String? {
    if about.name.isEmpty { return "its name is empty" }
    if about.version.isEmpty { return "its version is empty" }
    let known: Set<PluginKind> = [.messenger, .service, .observer]
    return about.kinds.contains(where: known.contains) ? nil : "kinds holds none of messenger, service, observer"
  }

  // MARK: - Checks

  private typealias Check = (String, (PluginTrial) async -> String?)

  private func checks(_ about: InitializeReply) -> [Check] {
    var checks: [Check] = [
      ("answers ping", { await self.expectAnswer(Ping(), $0) }),
      ("answers an unknown method with -32601", { await self.expectMethodNotFound($0) }),
      ("ignores unknown fields", { await self.expectAnswer(PingWithMore(), $0) }),
      ("answers 20 requests sent at once", { await self.expectAllAnswered($0) }),
    ]
    if about.kinds.contains(.messenger) {
      checks += [
        (
          "a messenger states its longest text",
          { _ in
            about.capabilities.maximumTextLength.map { $0 > 0 } == true
              ? nil : "capabilities.maximumTextLength is missing"
          }
        ),
        ("message.send answers with the message's id", { await self.expectReceipt("hello", $0) }),
        ("U+2028 and emoji arrive in one piece", { await self.expectReceipt("a\u{2028}b 🦊 \"\\", $0) }),
      ]
    }
    if about.capabilities.services?.contains(FormatRender.method) == true {
      checks.append(("format.render keeps to the limit", { await self.expectRendering($0) }))
    }
    checks.append(("answers shutdown", { await self.expectAnswer(Shutdown(reason: "check"), $0) }))
    return checks
  }

  private func expectAnswer(_ request: some WireRequest, _ life: PluginTrial) async -> String? {
    do {
      _ = try await life.peer.request(request, within: Self.answerLimit)
      return nil
    } catch {
      return "\(error)"
    }
  }

  private struct Unknown: WireRequest {
    static let method = "no.such.method"
    typealias Reply = Empty
  }

  private struct PingWithMore: WireRequest {
    static let method = Ping.method
    typealias Reply = Empty
    var somethingNew = ["a": 1]
  }

  private func expectMethodNotFound(_ life: PluginTrial) async -> String? {
    do {
      _ = try await life.peer.request(Unknown(), within: Self.answerLimit)
      return "it answered with a result"
    } catch .refused(let refusal) {
      return refusal.code == .methodNotFound ? nil : "it answered with code \(refusal.code.rawValue)"
    } catch {
      return "\(error)"
    }
  }

  private func expectAllAnswered(_ life: PluginTrial) async -> String? {
    await withTaskGroup(of: String?.self) { group in
      for _ in 0..<20 { group.addTask { await expectAnswer(Ping(), life) } }
      var problem: String?
      for await one in group { problem = problem ?? one }
      return problem
    }
  }

  private func expectReceipt(_ text: String, _ life: PluginTrial) async -> String? {
    let request = MessageSend(key: "check-\(text.hashValue)", conversation: "check", text: text)
    do {
      let receipt = try await life.peer.request(request, within: Self.answerLimit)
      return receipt.message.isEmpty ? "the receipt's message is empty" : nil
    } catch .refused(let refusal) {
      // A messenger without its platform may fail, but it must say how.
      return DeliveryFailure(refusal) == nil ? "it failed without data.kind: \(refusal.message)" : nil
    } catch {
      return "\(error)"
    }
  }

  private func expectRendering(_ life: PluginTrial) async -> String? {
    let request = FormatRender(
      text: String(repeating: "word ", count: 100), dialect: "plain", limit: 60, unit: .utf16, final: true)
    do {
      let pieces = try await life.peer.request(request, within: Self.answerLimit).pieces
      if pieces.isEmpty { return "there are no pieces" }
      return pieces.allSatisfy { $0.text.utf16.count <= 60 } ? nil : "a piece is over the limit"
    } catch {
      return "\(error)"
    }
  }

  private func leaves(_ life: PluginTrial) async -> String? {
    await life.end(clock: clock) == .signaled(SIGKILL) ? "it was still there and had to be killed" : nil
  }
}
