internal import RelayModel

extension DaemonStatus {
  /// A state that is as it should be, or a problem.
  package struct Finding: Sendable, Equatable {
    package let isGood: Bool
    package let text: String
  }

  /// The states of the running daemon that `doctor` tells.
  package var findings: [Finding] {
    let plugins = plugins.filter { $0.state != .disabled }.map { plugin in
      let isGood =
        [.running, .asleep, .unconfigured].contains(plugin.state) && (plugin.state != .running || plugin.problem == nil)
      let problem = plugin.problem.map { " — \($0)" } ?? ""
      return Finding(isGood: isGood, text: "plugin \(plugin.name): \(plugin.health)\(problem)")
    }
    let deliveries = (deliveries ?? []).filter { $0.failed > 0 }.map { delivery in
      let last = delivery.lastFailure.map { "; the last: \($0)" } ?? ""
      return Finding(
        isGood: false, text: "\(delivery.instance): \(delivery.failed) message(s) could not be shown\(last)")
    }
    return plugins + deliveries + problems.map { Finding(isGood: false, text: $0) }
  }
}
