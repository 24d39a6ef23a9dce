internal import MessengerHTTP
internal import MessengerKit
internal import PluginSDK
internal import RelayConcurrency
internal import RelayHTTP
internal import RelayTransport

/// Stays connected by Socket Mode: the next connection is open before the last one is left.
struct SlackConnections: Sendable {
  /// An arrival, in its order: the beginning of a life of connections, and each envelope that comes over them.
  enum Arrival: Sendable {
    case connected
    case envelope(Envelope)
  }

  /// The pause after a refusal that only a person can resolve.
  private static let pauseAfterRefusal: Duration = .seconds(600)
  /// More renewals in a minute are those of a service in trouble: then connections follow one after the other, with growing pauses.
  private static let renewals = SlidingWindow(maximum: 3, within: .seconds(60))

  let client: SlackClient
  let silence: Duration
  let log: @Sendable (String) -> Void
  /// Called before each first connection; throws what is in the way.
  let prepare: @Sendable () async throws -> Void
  let report: @Sendable (Reconnection.Step) async throws -> Void

  /// Runs until cancelled.
  ///
  /// - Parameters:
  ///   - arrived: called for each envelope as it comes; true when it is done with and needs no handling in order.
  ///   - handle: handles an arrival, in order.
  /// - Throws: errors of `handle` and `report`.
  func run(
    arrived: @escaping @Sendable (Envelope) -> Bool = { _ in false },
    _ handle: @escaping @Sendable (Arrival) async throws -> Void
  ) async throws {
    try await StayingConnected.run(pauseAfterRefusal: Self.pauseAfterRefusal, report: report) { isOfUse in
      try await prepare()
      let first = try await open()
      return try await Arrivals.run(
        read: { post in
          await stay(
            first,
            greeted: {
              isOfUse()
              post(.connected)
            }, post: { if !arrived($0) { post(.envelope($0)) } })
        }, handle: handle)
    }
  }

  private enum Event: Sendable {
    case ended(SlackSocket, SlackSocket.Ending)
    case opened(SlackSocket)
    case failed(ConnectionEnding)
  }

  /// Returns when no connection is left.
  private func stay(
    _ first: SlackSocket, greeted: @escaping @Sendable () -> Void, post: @escaping @Sendable (Envelope) -> Void
  ) async -> ConnectionEnding {
    await withTaskGroup(of: Event.self) { group in
      /// Connections that are left once the next one is greeted.
      let left = Locked<[SlackSocket]>([])
      func read(_ socket: SlackSocket, isFirst: Bool) {
        group.addTask {
          let ending = await socket.read(
            greeted: {
              if isFirst { greeted() }
              for old in left.withLock({ old in
                defer { old = [] }
                return old
              }) { old.leave() }
            }, post: post)
          return .ended(socket, ending)
        }
      }
      var (count, isOpening, renewals) = (1, false, Self.renewals)
      var last = ConnectionEnding("the connection ended")
      let now = LoopClock.shared.reading
      read(first, isFirst: true)
      while let event = await group.next() {
        switch event {
        case .ended(let socket, .renewalWanted):
          // It is read on meanwhile, for as long as Slack keeps it.
          read(socket, isFirst: false)
          guard !isOpening, renewals.wait(now: now()) == .zero else { continue }
          renewals.add(now: now())
          isOpening = true
          left.withLock { $0.append(socket) }
          group.addTask {
            do { return .opened(try await open()) } catch {
              return .failed(error as? ConnectionEnding ?? ConnectionEnding("\(error)"))
            }
          }
        case .opened(let next):
          (count, isOpening) = (count + 1, false)
          log("the connection to Slack is renewed")
          read(next, isFirst: false)
        case .failed(let ending):
          isOpening = false
          left.withLock { $0 = [] }
          last = ending
        case .ended(_, .ended(let ending)):
          count -= 1
          last = ending
        }
        if count == 0, !isOpening { return last }
      }
      return last
    }
  }

  /// - Throws: `ConnectionEnding`, or `CancellationError`.
  private func open() async throws -> SlackSocket {
    try await ConnectionEnding.connecting {
      let answer: JSONValue
      do throws(RESTError) { answer = try await client.ask("apps.connections.open") } catch {
        throw Self.ending(error)
      }
      guard let url = answer["url"]?.stringValue else { throw ConnectionEnding("Slack named no address to connect to") }
      var request = WebSocket.Request(url: url)
      request.proxy = client.interface.proxy(for: url)?.url
      request.allowsPlain = client.interface.allowsPlain
      return SlackSocket(try await WebSocket.connect(request), silence: silence)
    }
  }

  static func ending(_ error: RESTError) -> ConnectionEnding {
    if error.code == "too_many_websockets", let ending = SlackSocket.ending(error.code) { return ending }
    guard let problem = SlackError.problem(error) else {
      guard case .rateLimited(let seconds) = error else { return ConnectionEnding(error.words) }
      return ConnectionEnding(error.words, minimumPause: .seconds(seconds))
    }
    return ConnectionEnding(problem, isRefusal: true)
  }
}
