internal import AgentExtension
internal import RelayConcurrency
package import RelayModel
internal import RelayTransport
package import RelayWire

/// The operations on pairings that the control socket offers.
package protocol PairingService: Sendable {
  func begin(messenger: String, session: String?, label: String?) async throws(WireError) -> PairingOffer
  /// Must void the code when its caller is cancelled.
  func step(of pairing: String) async throws(WireError) -> PairingStep
  func decide(_ decision: PairingDecision, on pairing: String) async throws(WireError) -> String
  /// Voids a code that nobody has used; nothing otherwise.
  func takeBack(_ pairing: String)
  var active: [Pairing] { get }
  var trusted: [TrustedPerson] { get }
  /// - Parameter messenger: `KIND` or `KIND:INSTANCE`.
  func revoke(session: String?, messenger: String?, user: String?) async throws(WireError) -> [Pairing]
  func untrust(_ person: String, on messenger: String) async throws(WireError)
}

/// The pairings that a connection has begun: their codes are void when it ends, since nobody could confirm any more.
final class PairingOffers: Sendable {
  private enum State {
    case open([String])
    case closed
  }

  private let state = Locked(State.open([]))

  /// - Returns: false where the connection has ended meanwhile.
  func add(_ pairing: String) -> Bool {
    state.withLock { state in
      guard case .open(let pairings) = state else { return false }
      state = .open(pairings + [pairing])
      return true
    }
  }

  func close() -> [String] {
    state.withLock { state in
      guard case .open(let pairings) = state else { return [] }
      state = .closed
      return pairings
    }
  }
}

/// Answers the requests about pairings: each is a case of `answer`.
struct PairingRequests {
  static let methods: Set<String> = [
    PairingBeginRequest.method, PairingWaitRequest.method, PairingDecideRequest.method, PairingListRequest.method,
    PairingRevokeRequest.method, PairingUntrustRequest.method,
  ]

  let service: any PairingService
  /// Finds the id of a session that is named.
  let sessions: any SessionService
  /// The pairings that this connection has begun.
  let offers: PairingOffers

  /// - Parameter caller: `nil` for the daemon's owner; pi in a terminal speaks of its own session only.
  func answer(_ request: IncomingRequest, of caller: ExtensionCaller?) async {
    do throws(WireError) {
      if let caller, !caller.isTerminal {
        throw WireError(
          .forbidden, "\(request.method) is only for pi in a terminal, by /relay, and for pi-relayd outside of agents")
      }
      switch request.method {
      case PairingBeginRequest.method:
        let wish = try request.params(PairingBeginRequest.self)
        let session = try await id(of: wish.session, caller)
        let offer = try await service.begin(messenger: wish.messenger, session: session, label: wish.name)
        if !offers.add(offer.pairing) { service.takeBack(offer.pairing) }
        request.reply(offer)
      case PairingWaitRequest.method:
        request.reply(try await service.step(of: try request.params(PairingWaitRequest.self).pairing))
      case PairingDecideRequest.method:
        let wish = try request.params(PairingDecideRequest.self)
        request.reply(PairingDecideRequest.Reply(text: try await service.decide(wish.decision, on: wish.pairing)))
      case PairingListRequest.method:
        let pairings = service.active.filter { caller == nil || $0.session == caller?.session }
        request.reply(PairingListRequest.Reply(pairings: pairings, trusted: service.trusted))
      case PairingRevokeRequest.method:
        let wish = try request.params(PairingRevokeRequest.self)
        let session = try await id(of: wish.session, caller)
        guard session != nil || wish.messenger != nil || wish.user != nil else {
          throw WireError(.invalidParams, "name a session, a messenger or a user whose pairings are to be revoked")
        }
        request.reply(
          PairingRevokeRequest.Reply(
            revoked: try await service.revoke(session: session, messenger: wish.messenger, user: wish.user)))
      case PairingUntrustRequest.method:
        let wish = try request.params(PairingUntrustRequest.self)
        try await service.untrust(wish.user, on: wish.messenger)
        request.reply(Empty())
      default: throw WireError(.methodNotFound, "there is no method \(request.method)")
      }
    } catch {
      request.fail(error)
    }
  }

  private func id(of session: String?, _ caller: ExtensionCaller?) async throws(WireError) -> String? {
    if let caller { return caller.session }
    guard let session else { return nil }
    return try await sessions.status(session).id
  }
}
