/// The words by which a caller names one bridge.
package struct BridgeTarget: Sendable {
  package var pid: Int32?
  package var socket: String?
  package var session: String?
  package var name: String?
  package var directory: String?

  package init(
    pid: Int32? = nil, socket: String? = nil, session: String? = nil, name: String? = nil, directory: String? = nil
  ) {
    self.pid = pid
    self.socket = socket
    self.session = session
    self.name = name
    self.directory = directory
  }

  package enum Choice: Sendable {
    /// The socket's path.
    case one(String)
    case none
    case several([BridgeListing])
  }

  /// Applies every filter. A part of a text is enough, but a bridge that is named exactly is preferred to others that only
  /// contain the words.
  package func choose(among listings: [BridgeListing]) -> Choice {
    if let socket { return .one(socket) }
    var found = listings.filter { !$0.isStale && (pid == nil || $0.pid == pid) }
    found = Self.narrow(found, session) { [$0.session, $0.sessionFile] }
    found = Self.narrow(found, name) { [$0.name] }
    found = Self.narrow(found, directory) { [$0.directory] }
    let sockets = found.compactMap(\.socket)
    return sockets.isEmpty ? .none : sockets.count == 1 ? .one(sockets[0]) : .several(found)
  }

  private static func narrow(
    _ listings: [BridgeListing], _ words: String?, _ texts: (BridgeListing) -> [String?]
  ) -> [BridgeListing] {
    guard let words else { return listings }
    let exact = listings.filter { texts($0).contains(words) }
    return exact.isEmpty ? listings.filter { texts($0).contains { $0?.contains(words) == true } } : exact
  }
}
