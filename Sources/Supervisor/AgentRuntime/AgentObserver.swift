package import BridgeProtocol
package import PiRPC

/// Follows the processes of agents, from the start of each to its end.
package protocol AgentObserver: Sendable {
  /// A process runs, and its session listens to it.
  func began(_ process: PiConnection, of session: ObservedSession)
  /// The agent has told its state.
  func told(_ state: PiState, by process: PiConnection)
  /// The process has ended, and everything that it wrote has been read.
  func ended(_ process: PiConnection)
}

/// A session as an observer of its agent knows it.
package struct ObservedSession: Sendable {
  package let id: String
  package let name: String
  package let directory: String
  /// Settings of its bridge, from the person who runs the agent.
  package let bridge: BridgePreferences?

  package init(id: String, name: String, directory: String, bridge: BridgePreferences? = nil) {
    self.id = id
    self.name = name
    self.directory = directory
    self.bridge = bridge
  }
}
