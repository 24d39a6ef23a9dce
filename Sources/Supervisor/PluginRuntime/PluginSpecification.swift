package import RelayConfig
package import RelayJSON

/// The program and the settings of one instance. A change of any part means another process.
package struct PluginSpecification: Sendable, Equatable {
  /// `formatter`, `discord/work`.
  package var name: String
  package var executable: DiscoveredPlugin
  package var settings: JSONValue
  /// False when the configuration does not mention it.
  package var isConfigured: Bool
  package var messenger: Config.Messenger?

  /// The instances that these plugins and settings ask for: each configured instance of a messenger, and one of
  /// everything else.
  static func wanted(_ plugins: [DiscoveredPlugin], _ config: Config) -> [String: PluginSpecification] {
    var result: [String: PluginSpecification] = [:]
    for plugin in plugins {
      let configured = config.messengers.filter { $0.kind == plugin.name }
      for messenger in configured where messenger.enabled {
        result[messenger.name] = PluginSpecification(
          name: messenger.name, executable: plugin, settings: messenger.settings, isConfigured: true,
          messenger: messenger)
      }
      guard configured.isEmpty else { continue }
      let settings = config.plugins[plugin.name]
      guard settings?.enabled != false else { continue }
      result[plugin.name] = PluginSpecification(
        name: plugin.name, executable: plugin, settings: settings?.settings ?? .object([:]),
        isConfigured: settings != nil, messenger: nil)
    }
    return result
  }

  /// A line for each plugin that is configured and has no executable.
  static func missing(_ plugins: [DiscoveredPlugin], _ config: Config) -> [String] {
    let known = Set(plugins.map(\.name))
    let kinds = Set(
      config.messengers.filter { $0.enabled && !$0.isImplied }.map(\.kind) + config.plugins.filter(\.value.enabled).keys
    )
    return kinds.subtracting(known).sorted().map {
      "relay.yaml configures \"\($0)\", but there is no plugin of that name; put its executable into plugins/"
    }
  }
}
