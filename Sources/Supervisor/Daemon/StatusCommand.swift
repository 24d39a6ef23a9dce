import ArgumentParser
internal import ControlServer
import Glibc
internal import RelayHome
internal import RelayModel
import RelayTransport
import RelayWire

struct Status: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Show what the daemon runs.")

  @Flag(help: "Print JSON.") var json = false
  @Flag(help: "Show it again every second.") var watch = false

  func run() async throws {
    let surroundings = CommandLineEnvironment()
    while true {
      let status = try await surroundings.ask(ControlStatus())
      if json {
        print(String(decoding: try JSONCoding.encode(status, sorted: true), as: UTF8.self))
      } else {
        if watch, isatty(1) == 1 { print("\u{1B}[H\u{1B}[2J", terminator: "") }
        print(StatusText.of(status))
      }
      guard watch else { return }
      fflush(nil)
      try await Task.sleep(for: .seconds(1))
    }
  }
}

struct Stop: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "End the daemon in good order.")

  func run() async throws {
    for line in try await Self.stop(CommandLineEnvironment()) { print(line) }
    print("pi-relayd has stopped.")
  }

  /// Asks the daemon to stop and waits until it has. Answers what it left, in words.
  @discardableResult
  static func stop(_ surroundings: CommandLineEnvironment) async throws -> [String] {
    var parked: [String]?
    for round in 0..<rounds {
      guard let peer = surroundings.connect() else {
        if round > 0 { break }
        StandardError.say("No pi-relayd runs for \(surroundings.home.path).")
        throw ExitStatus.notRunning
      }
      defer { peer.close() }
      parked = try await order(peer, surroundings)
      if parked != nil { break }
      // It ended in another way, or has become another program that knows nothing of this.
      try await Task.sleep(for: .milliseconds(100))
    }
    if parked == nil, let peer = surroundings.connect() {
      peer.close()
      StandardError.say("pi-relayd does not accept the order to stop; see \(surroundings.home.daemonLog)")
      throw ExitStatus.failed
    }
    while DaemonLock.isHeld(surroundings.home) { try await Task.sleep(for: .milliseconds(5)) }
    return parked ?? []
  }

  private static let rounds = 5

  /// Answers what the daemon left; nil when the connection ended before it said so.
  private static func order(_ peer: JSONRPCConnection, _ surroundings: CommandLineEnvironment) async throws -> [String]?
  {
    do {
      // Comes when all is done, which takes as long as running answers are waited for.
      let parked = try await peer.request(ControlStop(), within: nil).parked ?? []
      // The connection ends when the daemon does; the lock is let go a moment later.
      for await _ in peer.requests {}
      return parked
    } catch {
      switch error {
      case .closed, .notSent: return nil
      default: throw surroundings.fail(error)
      }
    }
  }
}

/// Status in words.
enum StatusText {
  static func of(_ status: DaemonStatus) -> String {
    var lines = [
      "pi-relayd \(status.version) on \(status.machine), pid \(status.pid), up \(Duration(seconds: status.uptime).forPeople), home \(status.home)"
    ]
    lines.append("Configuration: \(status.configuration ?? "none (defaults)")")
    if let agent = status.agent { lines.append("Agent: \(agent)") }
    lines.append("Plugins:")
    lines += plugins(status.plugins)
    lines.append("Channels:")
    lines += table((status.channels ?? []).map { [$0.instance, $0.channel, "use: \($0.use)"] })
    lines.append("Conversations:")
    lines += conversations(status.conversations ?? [])
    lines.append("Sessions:")
    lines += sessions(status.sessions)
    if let known = status.deliveries, !known.isEmpty {
      lines.append("Deliveries:")
      lines += deliveries(known)
    }
    lines += status.problems.map { "Problem: \($0)" }
    return lines.joined(separator: "\n")
  }

  static func plugins(_ plugins: [PluginStatus]) -> [String] {
    table(
      plugins.map { plugin in
        [
          plugin.name, plugin.health, plugin.pid.map { "pid \($0)" } ?? "-", "\(plugin.restarts) restarts",
          plugin.problem ?? "",
        ]
      })
  }

  static func conversations(_ conversations: [ConversationStatus]) -> [String] {
    table(
      conversations.map { conversation in
        [
          conversation.instance, conversation.kind, conversation.title ?? conversation.conversation,
          "session \(conversation.session)", conversation.isConnected ? "" : "not connected",
        ]
      })
  }

  static func sessions(_ sessions: [SessionStatus]) -> [String] {
    table(
      sessions.map { session in
        [
          session.name, session.words, session.pid.map { "pid \($0)" } ?? "-", session.model ?? "-",
          session.directory,
        ]
      })
  }

  static func deliveries(_ deliveries: [DeliveryStatus]) -> [String] {
    table(
      deliveries.map { delivery in
        [
          delivery.instance, "\(delivery.waiting) on their way", "\(delivery.failed) given up",
          delivery.lastFailure.map { "the last: \($0)" } ?? "",
        ]
      })
  }

  /// Rows with their columns aligned; "none" for no rows.
  static func table(_ rows: [[String]]) -> [String] {
    guard let columns = rows.first?.count else { return ["  none"] }
    let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      "  "
        + zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
        .trimmingTrailingSpaces()
    }
  }
}

extension String {
  func trimmingTrailingSpaces() -> String {
    var text = self[...]
    while text.last == " " { text = text.dropLast() }
    return String(text)
  }
}
