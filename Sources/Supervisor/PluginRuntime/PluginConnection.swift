package import Logging
internal import RelayConcurrency
package import RelayConfig
internal import RelayText
package import RelayTransport
package import RelayWire

/// A plugin after its handshake, and the way to it. One for each process.
package final class PluginConnection: Sendable {
  /// The instance: `formatter`, `discord/work`, `attached/terminal-1`.
  package let name: String
  package let about: InitializeReply
  /// Its own account of its capabilities, within sensible limits.
  package let capabilities: Capabilities
  /// How this instance is configured as a messenger; nil for services.
  package let messenger: Config.Messenger?
  package let spoolFolder: String
  /// Where the person at the other end is on this machine already: a terminal of the same user.
  package let isLocal: Bool
  private let peer: JSONRPCConnection
  private let hung: @Sendable (String) -> Void
  /// Names the instance on every line.
  private let logger: Logger
  /// Methods whose answer could not be understood, which is logged once.
  private let misunderstood = Locked<Set<String>>([])
  private let worked = Locked(false)
  private let reportedProblem = Locked<String?>(nil)

  package init(
    name: String, about: InitializeReply, messenger: Config.Messenger?, spoolFolder: String, isLocal: Bool,
    peer: JSONRPCConnection, hung: @escaping @Sendable (String) -> Void, logger: Logger
  ) {
    self.name = name
    self.about = about
    capabilities = about.capabilities.sensible
    self.messenger = messenger
    self.spoolFolder = spoolFolder
    self.isLocal = isLocal
    self.peer = peer
    self.hung = hung
    self.logger = logger
  }

  package var isMessenger: Bool { about.kinds.contains(.messenger) }

  /// True once this process has answered anything: the sign that it works.
  package var hasWorked: Bool { worked.withLock { $0 } }

  /// It may be ended while nobody needs it.
  var isOnDemand: Bool { capabilities.onDemand == true && !isMessenger }

  package func offers(_ service: String) -> Bool { capabilities.services?.contains(service) == true }

  /// Sends a request to the plugin. A plugin that is silent past the limit counts as hanging, and is restarted.
  package func request<Request: WireRequest>(
    _ request: Request, within limit: Duration = .seconds(30)
  ) async throws(ConnectionError) -> Request.Reply {
    do {
      let reply = try await peer.request(request, within: limit)
      worked.withLock { $0 = true }
      return reply
    } catch {
      if case .timedOut(let method) = error, peer.silence >= limit {
        hung("it did not answer \(method) within \(limit.forPeople) and sent nothing else")
      }
      if case .refused = error { worked.withLock { $0 = true } }
      if case .unreadable(let method, _) = error, misunderstood.withLock({ $0.insert(method).inserted }) {
        logger.warning("\(error)")
      }
      throw error
    }
  }

  /// The problem that the plugin has reported; one line.
  package var problem: String? { reportedProblem.withLock { $0 } }

  /// Takes a report of what keeps it from its work.
  ///
  /// - Returns: false when it repeats the last report.
  package func note(_ problem: String?) -> Bool {
    // Cut by bytes: a few characters may carry any number of accents.
    let line = problem.map { TextSanitizer.line($0.cut(toBytes: ProblemReport.maximumBytes), limit: .max) }
    let shown = line?.isEmpty == false ? line : nil
    return reportedProblem.withLock { problem in
      defer { problem = shown }
      return problem != shown
    }
  }

  /// The connection has ended.
  package var isOver: Bool { peer.hasEnded }
  var silence: Duration { peer.silence }
  package var awaitsAnswers: Bool { peer.awaitsAnswers }
}

/// The receiver of what plugins send: the router.
package protocol PluginEventHandler: Sendable {
  func connected(_ link: PluginConnection) async
  /// Must answer the request, now or later. Called in the order of arrival; a slow handling delays the next.
  func received(_ request: IncomingRequest, from link: PluginConnection) async
  func disconnected(_ link: PluginConnection) async
  /// Asks whether nobody needs the plugin now; after a yes, this process gets no further requests.
  ///
  /// - Parameter wake: starts it again.
  func mayEnd(_ link: PluginConnection, wake: @escaping @Sendable () -> Void) async -> Bool
}
