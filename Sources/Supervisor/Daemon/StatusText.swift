internal import ControlServer
internal import RelayModel
import RelayWire

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

  static func sessions(_ sessions: [SessionStatus], withIDs: Bool = false) -> [String] {
    table(
      sessions.map { session in
        [
          session.name, session.words, session.pid.map { "pid \($0)" } ?? "-", session.model ?? "-",
          session.directory,
        ] + (withIDs ? [session.id] : [])
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
