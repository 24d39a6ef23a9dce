public import RelayJSON

/// `initialize`: the host's first request; nothing else is said before it is answered.
public struct InitializeRequest: WireRequest {
  public static let method = "initialize"
  public static let replyForm =
    "{protocolVersion: integer, name: string, version: string, kinds: [string], capabilities: Capabilities, problem?: string}"
  public typealias Reply = InitializeReply

  /// The versions of the protocol that the host speaks; the plugin chooses the highest that it speaks, too.
  public var protocolVersions: [Int]
  /// The program that is the plugin's host.
  public var host: HostDescription
  /// Unique among this daemon's instances, for example `discord/work`.
  public var instance: String
  /// This instance's own configuration subtree, secrets included. Never in argv or the environment.
  public var config: JSONValue
  /// The last state this instance saved, if any.
  public var state: JSONValue?
  /// A folder of this instance's own, kept between runs.
  public var dataDir: String
  /// Where files are handed over, in both directions.
  public var spoolDir: String

  public init(
    protocolVersions: [Int] = ProtocolVersion.supported, host: HostDescription, instance: String, config: JSONValue,
    state: JSONValue? = nil, dataDir: String, spoolDir: String
  ) {
    self.protocolVersions = protocolVersions
    self.host = host
    self.instance = instance
    self.config = config
    self.state = state
    self.dataDir = dataDir
    self.spoolDir = spoolDir
  }
}

/// The program that is a plugin's host.
public struct HostDescription: Codable, Sendable, Equatable {
  /// The program's name, for example `pi-relayd`.
  public var name: String
  /// The version of the program, not of the protocol.
  public var version: String

  public init(name: String, version: String) {
    self.name = name
    self.version = version
  }
}

/// The answer of `initialize`.
public struct InitializeReply: Codable, Sendable, Equatable {
  /// The version of the protocol that the plugin chose.
  public var protocolVersion: Int
  /// The plugin's name, for logs and status.
  public var name: String
  /// The plugin's own version, for logs and status.
  public var version: String
  /// The kinds of work that the plugin does; the host ignores kinds that it does not know.
  public var kinds: [PluginKind]
  /// The facts that the host adapts its requests to.
  public var capabilities: Capabilities
  /// The problem that keeps the plugin from its work, until `problem.report` says otherwise.
  public var problem: String?

  public init(
    protocolVersion: Int, name: String, version: String, kinds: [PluginKind], capabilities: Capabilities,
    problem: String? = nil
  ) {
    self.problem = problem
    self.protocolVersion = protocolVersion
    self.name = name
    self.version = version
    self.kinds = kinds
    self.capabilities = capabilities
  }
}

/// A purpose that a plugin serves. An open set: a kind this host does not know is ignored.
public struct PluginKind: RawRepresentable, Hashable, Codable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Hands over people's messages, and shows the host's. The host refuses `message.received` and the like from plugins
  /// without this kind.
  public static let messenger = PluginKind(rawValue: "messenger")
  /// Answers the requests that `Capabilities.services` lists.
  public static let service = PluginKind(rawValue: "service")
  /// Does work of its own, and is neither a messenger nor a service.
  public static let observer = PluginKind(rawValue: "observer")
}

/// A mistake in a configuration subtree. `path` is dotted and relative to the subtree.
public struct ConfigurationProblem: Codable, Sendable, Equatable {
  /// The dotted path of the setting; empty for the subtree itself.
  public var path: String
  /// The complaint, worded to follow the path: `is missing`.
  public var message: String

  public init(path: String, message: String) {
    self.path = path
    self.message = message
  }
}
