internal import RelayConcurrency

extension PluginHost {
  package struct Handover: Codable, Sendable {
    package var plugins: [PluginHandover] = []
  }

  /// Hears nothing more of the plugins until `resume`.
  ///
  /// - Returns: nil when one is in the middle of something, with its name.
  package func hold() async -> (handover: Handover?, busy: String?) {
    var handover = Handover()
    for instance in running {
      switch await instance.hold() {
      case .notRunning: break
      case .ready(let plugin): handover.plugins.append(plugin)
      case .busy: return (nil, instance.name)
      }
    }
    return (handover, nil)
  }

  package func resume() async { for instance in running { await instance.resume() } }
}
