package import PluginRuntime
package import RelayModel
package import RelayWire

// The requests of the command line to the daemon, over the control socket: JSON-RPC, like those of plugins.

package struct ControlStatus: WireRequest {
  package static let method = "control.status"
  package typealias Reply = DaemonStatus
  package init() {}
}

package struct DaemonStatus: Codable, Sendable, Equatable {
  package var version: String
  package var pid: Int32
  package var home: String
  package var machine: String
  /// Seconds since the start.
  package var uptime: Double
  package var configuration: String?
  package var agent: String?
  package var plugins: [PluginStatus]
  package var sessions: [SessionStatus]
  /// Instances with sends under way or given up. `nil` from an earlier version of the daemon.
  package var deliveries: [DeliveryStatus]?
  /// Terminals that are attached now. `nil` from an earlier version of the daemon.
  package var terminals: [String]?
  /// Conversations that the configuration names. `nil` from an earlier version of the daemon.
  package var channels: [ChannelStatus]?
  /// Conversations that talk to a session. `nil` from an earlier version of the daemon.
  package var conversations: [ConversationStatus]?
  /// Problems that a person should fix.
  package var problems: [String]
  /// How often it has been replaced by another program in the same process.
  package var upgrades: Int

  package init(
    version: String,
    pid: Int32,
    home: String,
    machine: String,
    uptime: Double,
    configuration: String?,
    agent: String?,
    plugins: [PluginStatus],
    sessions: [SessionStatus],
    deliveries: [DeliveryStatus]?,
    terminals: [String]?,
    channels: [ChannelStatus]?,
    conversations: [ConversationStatus]?,
    problems: [String],
    upgrades: Int
  ) {
    self.version = version
    self.pid = pid
    self.home = home
    self.machine = machine
    self.uptime = uptime
    self.configuration = configuration
    self.agent = agent
    self.plugins = plugins
    self.sessions = sessions
    self.deliveries = deliveries
    self.terminals = terminals
    self.channels = channels
    self.conversations = conversations
    self.problems = problems
    self.upgrades = upgrades
  }
}

/// Lets another program take the daemon's place, with everything that runs. Answered only when that cannot be.
package struct ControlUpgrade: WireRequest {
  package static let method = "control.upgrade"

  package struct Reply: Codable, Sendable, Equatable {
    package var problem: String
  }

  /// The whole path of the new pi-relayd.
  package var program: String

  package init(program: String) { self.program = program }
}

package struct ControlPlugin: WireRequest {
  package static let method = "control.plugin"
  package typealias Reply = Empty
  package var name: String
  package var change: PluginRegistry.Change

  package init(name: String, change: PluginRegistry.Change) {
    self.name = name
    self.change = change
  }
}

/// Revokes a grant of a tool call for all sessions.
package struct ControlRevokeGrant: WireRequest {
  package static let method = "control.revokeGrant"
  package typealias Reply = Empty
  package var grant: String

  package init(grant: String) { self.grant = grant }
}

package struct ControlReload: WireRequest {
  package static let method = "control.reload"

  package struct Reply: Codable, Sendable, Equatable {
    /// Problems of the new configuration, which the daemon then did not adopt.
    package var problems: [String]
  }
  package init() {}
}

package struct ControlStop: WireRequest {
  package static let method = "control.stop"

  /// Comes when the daemon is about to end, its connection with it.
  package struct Reply: Codable, Sendable, Equatable {
    /// Descriptions of the work that was cut short and of the work that the next start continues; `nil` from an older
    /// daemon.
    package var parked: [String]?
  }
  package init() {}
}

/// Makes this connection a messenger: the daemon's `initialize` follows.
package struct ControlAttach: WireRequest {
  package static let method = "control.attach"
  package typealias Reply = Empty
  /// Letters, digits and dashes; the same again after a reconnect finds the same conversations.
  package var client: String

  package init(client: String) { self.client = client }
}
