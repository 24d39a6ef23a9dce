/// A message that a program gives to a session.
package struct ProgramPrompt: Codable, Sendable, Equatable {
  package enum Delivery: String, Codable, Sendable {
    /// Into the run in progress, where there is one; otherwise a turn of its own.
    case auto
    /// The same, asked for by name.
    case steer
    /// A turn of its own, behind what waits.
    case followUp
  }

  package struct Image: Codable, Sendable, Equatable {
    /// Base64.
    package var data: String
    package var mime: String

    package init(data: String, mime: String) {
      self.data = data
      self.mime = mime
    }
  }

  /// The session's id.
  package var session: String
  package var text: String
  package var images: [Image]?
  /// `nil`: `auto`.
  package var delivery: Delivery?
  /// The program's own id. The same id again in the same session is the same message, which is not run twice.
  package var id: String?

  package init(
    session: String, text: String, images: [Image]? = nil, delivery: Delivery? = nil, id: String? = nil
  ) {
    self.session = session
    self.text = text
    self.images = images
    self.delivery = delivery
    self.id = id
  }
}

/// The acknowledgement of a program's message: it is stored, and ends in one way or another.
package struct PromptReceipt: Codable, Sendable, Equatable {
  /// The program's id, or the one that was made for it.
  package var message: String
  /// How far the message has come: `MessageStage.name`.
  package var stage: String
  /// It was stored before, by an earlier request.
  package var repeated: Bool?
  /// The run in progress has it.
  package var steered: Bool?
  /// It waits behind this many.
  package var behind: Int?

  package init(
    message: String, stage: String, repeated: Bool? = nil, steered: Bool? = nil, behind: Int? = nil
  ) {
    self.message = message
    self.stage = stage
    self.repeated = repeated
    self.steered = steered
    self.behind = behind
  }
}

/// An open question of a session, for programs.
package struct OpenQuestion: Codable, Sendable, Equatable {
  package var id: String
  package var session: String
  /// `confirm`, `select`, `input` or `editor`.
  package var kind: String
  package var title: String
  package var message: String?
  package var options: [String]
  /// Seconds since 1970, where the time to answer is limited by the agent.
  package var expires: Double?
  /// The supervisor asks, not the agent: only its options are answers.
  package var supervisor: Bool?

  package init(
    id: String, session: String, kind: String, title: String, message: String? = nil, options: [String] = [],
    expires: Double? = nil, supervisor: Bool? = nil
  ) {
    self.id = id
    self.session = session
    self.kind = kind
    self.title = title
    self.message = message
    self.options = options
    self.expires = expires
    self.supervisor = supervisor
  }
}
