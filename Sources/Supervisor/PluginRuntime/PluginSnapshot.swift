internal import ProcessSupervision
internal import RelayJSON
package import RelayTransport
internal import RelayWire

/// A plugin's process for the next program of this process to continue with.
package struct PluginSnapshot: Codable, Sendable {
  var name: String
  var child: ChildProcess.Snapshot
  package var peer: JSONRPCConnection.Snapshot
  package var errors: Int32
  var heldErrors: [UInt8]
  var about: InitializeReply
  /// Mark in the environment of its process, and of the processes that this one has started.
  var lifeMarker: String
  /// Executable and settings that its process was started with.
  var executable: DiscoveredPlugin.Stamp
  var settings: JSONValue
  var restarts: Int
  /// Its earlier ends, as ages.
  var history: RestartPolicy.History?
  /// The problem that it has reported.
  var problem: String?
}
