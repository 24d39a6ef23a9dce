internal import RelayWire

/// The data that Discord needs to resume a session where it broke off. The host keeps it, so that a restarted plugin
/// resumes.
struct GatewaySession: Codable, Equatable, Sendable {
  var id: String
  /// Of the last event that was handled, not merely received.
  var sequence: Int
  var resumeURL: String

  init(id: String, sequence: Int, resumeURL: String) {
    self.id = id
    self.sequence = sequence
    self.resumeURL = resumeURL
  }

  /// From the first event of a session.
  init?(ready: JSONValue?, sequence: Int) {
    guard let id = ready?["session_id"]?.stringValue, let url = ready?["resume_gateway_url"]?.stringValue else {
      return nil
    }
    self.init(id: id, sequence: sequence, resumeURL: url)
  }

  /// Reads a kept session; `nil` where none, or something else, was kept.
  init?(kept: JSONValue?) {
    guard let kept, let session = try? JSONCoding.convert(kept, to: GatewaySession.self) else { return nil }
    self = session
  }

  var asJSON: JSONValue {
    ["id": .string(id), "sequence": .integer(Int64(sequence)), "resumeURL": .string(resumeURL)]
  }
}

/// An event at Discord.
struct GatewayEvent: Sendable {
  var name: String
  var data: JSONValue
  /// The session as it is once this event has been handled.
  var session: GatewaySession
}
