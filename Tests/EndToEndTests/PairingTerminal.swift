import CLinux
import ControlServer
import Glibc
import RelayConcurrency
import RelayHome
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

/// The terminal of a test: a connection to the daemon.
struct PairingTerminal {
  let peer: JSONRPCConnection

  init(_ relay: RelayFixture) throws {
    let descriptor = relay_connect_unix(relay.home.socket)
    guard descriptor >= 0 else { throw SystemError("connect", code: -descriptor) }
    peer = JSONRPCConnection(input: descriptor, output: fcntl(descriptor, F_DUPFD_CLOEXEC, 3))
    try peer.start()
  }

  func ask<Request: WireRequest>(_ request: Request) async throws -> Request.Reply {
    try await peer.request(request, within: .seconds(30))
  }

  func begin(session: String? = nil) async throws -> PairingOffer {
    try await ask(PairingBeginRequest(messenger: "fake", session: session))
  }

  /// The people who are paired.
  var persons: [String] { get async throws { try await ask(PairingListRequest()).pairings.map(\.person) } }

  func step(_ offer: PairingOffer) async throws -> PairingStep {
    try await ask(PairingWaitRequest(pairing: offer.pairing))
  }

  func decide(_ decision: PairingDecision, _ offer: PairingOffer) async throws -> String {
    try await ask(PairingDecideRequest(pairing: offer.pairing, decision: decision)).text
  }

  /// Pairs a person, who sends the code in the conversation `dm-ID`.
  func pair(
    _ person: String = "mallory", session: String? = nil, _ decision: PairingDecision = .once, id: String = "code",
    at relay: RelayFixture
  ) async throws {
    let offer = try await begin(session: session)
    try await relay.messenger.say("/pair \(offer.code)", id: id, in: "dm-\(person)", from: person)
    #expect(try await step(offer).kind == .asked)
    _ = try await decide(decision, offer)
    #expect(try await step(offer).kind == .paired)
  }

  /// A daemon with a session that a configured person has begun, and a terminal.
  static func withSession(
    approvals: String = "", pi: String = "", capabilities: Capabilities = FakeMessenger.usual,
    _ body: (RelayFixture, PairingTerminal, _ session: String) async throws -> Void
  ) async throws {
    try await RelayFixture.run(
      config: RelayFixture.defaultConfig + "\n" + approvals, pi: pi, capabilities: capabilities
    ) { relay in
      try await relay.messenger.say("/new work", id: "begin")
      _ = await relay.messenger.waitForOutcome(of: "begin")
      let session = try #require(try await relay.status().sessions.first)
      try await body(relay, try PairingTerminal(relay), session.id)
    }
  }
}
