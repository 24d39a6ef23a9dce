package import RelayJSON

/// The data that Discord needs to resume a session where it broke off. The host keeps it, so that a restarted plugin
/// resumes.
package struct GatewaySession: Codable, Equatable, Sendable {
  package var id: String
  /// Of the last event that was handled, not merely received.
  package var sequence: Int
  package var resumeURL: String

  package init(id: String, sequence: Int, resumeURL: String) {
    self.id = id
    self.sequence = sequence
    self.resumeURL = resumeURL
  }

  /// From the first event of a session.
  package init?(ready: JSONValue?, sequence: Int) {
    guard let id = ready?["session_id"]?.stringValue, let url = ready?["resume_gateway_url"]?.stringValue else {
      return nil
    }
    self.init(id: id, sequence: sequence, resumeURL: url)
  }

  /// Reads a kept session; `nil` where none, or something else, was kept.
  package init?(kept: JSONValue?) {
    guard let kept, let session = try? JSONCoding.convert(kept, to: GatewaySession.self) else { return nil }
    self = session
  }

  package var asJSON: JSONValue {
    ["id": .string(id), "sequence": .integer(Int64(sequence)), "resumeURL": .string(resumeURL)]
  }
}

/// An event at Discord.
package struct GatewayEvent: Sendable {
  package var name: String
  package var data: JSONValue
  /// The session as it is once this event has been handled.
  package var session: GatewaySession
}
