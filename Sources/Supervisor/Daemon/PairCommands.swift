import ArgumentParser
internal import ControlServer
import Glibc
import RelayJSON
internal import RelayModel
import RelayTransport
import RelayWire

struct Pair: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Admit a person to a messenger by a code.",
    discussion: """
      The code is shown here, and the person sends it to the bot in a direct message. You are asked before anybody is \
      admitted. Without --session the person begins sessions of their own in that conversation.
      """)
  @Argument(help: "The messenger, as in telegram or telegram:work.") var messenger: String
  @Argument(help: "A name for lists.") var name: String?
  @Option(help: "Pair the person with this session only.") var session: String?

  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    let surroundings = CommandLineEnvironment()
    guard let peer = surroundings.connect() else { throw surroundings.notRunning }
    defer { peer.close() }
    do {
      let offer = try await peer.request(
        PairingBeginRequest(messenger: messenger, session: session, name: name), within: .seconds(30))
      for line in offer.lines { print(line) }
      fflush(nil)
      // The daemon ends it.
      let limit: Duration = .seconds(offer.expiresInSeconds + 60)
      while true {
        let step = try await peer.request(PairingWaitRequest(pairing: offer.pairing), within: limit)
        switch step.kind {
        case .asked: try await decide(offer, step, peer)
        case .paired: return print(step.text)
        case .ended:
          StandardError.say("pi-relayd: \(step.text)")
          throw ExitStatus.failed
        }
      }
    } catch let error as ConnectionError {
      throw surroundings.fail(DaemonFailure(error, surroundings))
    }
  }

  private func decide(_ offer: PairingOffer, _ step: PairingStep, _ peer: JSONRPCConnection) async throws {
    var decision = PairingDecision.deny
    if isatty(STDIN_FILENO) == 1 {
      if Self.confirms("\(step.text) Allow?") {
        decision = Self.confirms("Trust them, so that their next pairing is not asked about?") ? .trust : .once
      }
    } else {
      StandardError.say(
        "pi-relayd: \(step.text) Nobody can be asked here: run `pi-relayd pair` in a terminal. The person is refused.")
    }
    do {
      _ = try await peer.request(PairingDecideRequest(pairing: offer.pairing, decision: decision), within: .seconds(30))
    } catch .refused(let refusal) {
      // Too late, or the session is away: the code may be sent again.
      StandardError.say("pi-relayd: \(refusal.message)")
    }
  }

  private static func confirms(_ question: String) -> Bool {
    print("\(question) [y/N]", terminator: " ")
    fflush(nil)
    return ["y", "yes"].contains((readLine() ?? "").trimmingWhitespace().lowercased())
  }
}

struct Unpair: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Revoke pairings, at once.")
  @Option(help: "Those with this session.") var session: String?
  @Option(help: "Those on this messenger, as in telegram or telegram:work.") var messenger: String?
  @Option(help: "Those of the person with this id, as `pi-relayd trusted` shows it.") var user: String?

  func run() async throws {
    let reply = try await CommandLineEnvironment().ask(
      PairingRevokeRequest(session: session, messenger: messenger, user: user))
    if reply.revoked.isEmpty { print("Nobody is paired there.") }
    for pairing in reply.revoked { print("\(pairing.name) (\(pairing.person)) is no longer paired.") }
  }
}

struct Trusted: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the people who were paired, and those whose pairings need no confirmation.")
  @Flag(help: "Print JSON.") var json = false

  func run() async throws {
    let reply = try await CommandLineEnvironment().ask(PairingListRequest())
    if json { return print(String(decoding: try JSONCoding.encode(reply, sorted: true), as: UTF8.self)) }
    for line in reply.lines { print(line) }
  }
}

struct Untrust: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Ask again before a person's next pairing.",
    discussion: "What the person is paired with stays: see `pi-relayd unpair`.")
  @Argument(help: "The messenger, as in telegram or telegram:work.") var messenger: String
  @Argument(help: "The person's id, as `pi-relayd trusted` shows it.") var user: String

  func run() async throws {
    _ = try await CommandLineEnvironment().ask(PairingUntrustRequest(messenger: messenger, user: user))
    print("\(user) is no longer trusted on \(messenger).")
  }
}
