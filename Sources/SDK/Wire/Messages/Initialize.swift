/// `initialize`: the host's first request; nothing else is said before it is answered.
public struct InitializeRequest: WireRequest {
  public static let method = "initialize"
  public static let replyForm =
    "{protocolVersion: integer, name: string, version: string, kinds: [string], capabilities: Capabilities, problem?: string}"
  public typealias Reply = InitializeReply

  public var protocolVersions: [Int]
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

public struct HostDescription: Codable, Sendable, Equatable {
  public var name: String
  public var version: String

  public init(name: String, version: String) {
    self.name = name
    self.version = version
  }
}

public struct InitializeReply: Codable, Sendable, Equatable {
  public var protocolVersion: Int
  public var name: String
  public var version: String
  public var kinds: [PluginKind]
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

/// What a plugin is for. An open set: a kind this host does not know is ignored.
public struct PluginKind: RawRepresentable, Hashable, Codable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  public static let messenger = PluginKind(rawValue: "messenger")
  public static let service = PluginKind(rawValue: "service")
  public static let observer = PluginKind(rawValue: "observer")
}

/// One complaint about a configuration subtree. `path` is dotted and relative to the subtree.
public struct ConfigurationProblem: Codable, Sendable, Equatable {
  public var path: String
  public var message: String

  public init(path: String, message: String) {
    self.path = path
    self.message = message
  }
}
