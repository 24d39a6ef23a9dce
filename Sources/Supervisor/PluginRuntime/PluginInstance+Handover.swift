internal import Glibc
internal import ProcessSupervision
internal import RelayModel
package import RelayTransport
internal import RelayWire

/// A plugin that the next program of this process goes on with.
package struct PluginHandover: Codable, Sendable {
  var name: String
  var child: ChildProcess.Handover
  package var peer: JSONRPCConnection.Handover
  package var errors: Int32
  var heldErrors: [UInt8]
  var about: InitializeReply
  /// What the processes of its life carry in their environment.
  var lifeMarker: String
  /// What it was started from and with.
  var executable: DiscoveredPlugin.Stamp
  var settings: JSONValue
  var restarts: Int
  /// Its earlier ends, as ages.
  var history: RestartPolicy.History?
  /// What it said is in its way.
  var problem: String?
}

// How a plugin passes from one program of this process to the next.
extension PluginInstance {
  enum Hold: Sendable {
    case notRunning
    case ready(PluginHandover)
    case busy
  }

  /// Hears nothing more of it until `resume`.
  func hold() async -> Hold {
    let life = life
    guard let life else { return .notRunning }
    guard let link = life.link, let peer = await life.peer.hold(), let (errors, heldErrors) = await life.log.hold(),
      self.life === life, !life.child.hasEnded
    else { return .busy }
    return .ready(
      PluginHandover(
        name: name, child: life.child.handover, peer: peer, errors: errors, heldErrors: heldErrors, about: link.about,
        lifeMarker: life.marker, executable: specification.executable.stamp, settings: specification.settings,
        restarts: report().restarts, history: historyForHandover,
        problem: report().problem))
  }

  func resume() {
    life?.peer.resume()
    life?.log.resume()
  }
}
