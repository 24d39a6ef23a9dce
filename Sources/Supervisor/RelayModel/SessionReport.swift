package import RelayJSON

/// An event of a session as programs are told it: small, whatever the agent writes.
package struct SessionReport: Codable, Sendable, Equatable {
  /// The session's id.
  package var session: String
  /// `run.started`, `text`, `tool.started` …
  package var event: String
  /// Seconds since 1970.
  package var time: Double
  /// The members that the kind of event has.
  package var data: JSONValue

  package init(session: String, event: String, time: Double, data: JSONValue) {
    self.session = session
    self.event = event
    self.time = time
    self.data = data
  }
}
