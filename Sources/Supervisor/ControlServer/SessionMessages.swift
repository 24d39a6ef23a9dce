package import RelayModel
package import RelayWire

// The requests of programs about sessions. `session` is an id, a name, or the beginning of one of them.

package struct SessionListRequest: WireRequest {
  package static let method = "session.list"

  package struct Reply: Codable, Sendable, Equatable {
    package var sessions: [SessionStatus]

    package init(sessions: [SessionStatus]) { self.sessions = sessions }
  }
  package init() {}
}

package struct SessionStatusRequest: WireRequest {
  package static let method = "session.status"
  package typealias Reply = SessionStatus
  package var session: String

  package init(session: String) { self.session = session }
}

package struct SessionCreateRequest: WireRequest {
  package static let method = "session.create"
  package typealias Reply = SessionStatus
  /// Beneath `sessions.roots`; `nil` for the configured folder.
  package var directory: String?
  package var name: String?
  package var model: String?
  /// The first message.
  package var task: String?

  package init(directory: String? = nil, name: String? = nil, model: String? = nil, task: String? = nil) {
    self.directory = directory
    self.name = name
    self.model = model
    self.task = task
  }
}

extension ProgramPrompt: WireRequest {
  package static let method = "session.prompt"
  package typealias Reply = PromptReceipt
}

/// A prompt for the run in progress; where none takes it, for a turn of its own.
package struct SessionSteerRequest: WireRequest {
  package static let method = "session.steer"
  package typealias Reply = PromptReceipt
  package var session: String
  package var text: String
  package var images: [ProgramPrompt.Image]?
  package var id: String?

  package init(session: String, text: String, images: [ProgramPrompt.Image]? = nil, id: String? = nil) {
    self.session = session
    self.text = text
    self.images = images
    self.id = id
  }
}

package struct SessionAbortRequest: WireRequest {
  package static let method = "session.abort"

  package struct Reply: Codable, Sendable, Equatable {
    /// `nothing`, `run` or `compaction`.
    package var stopped: String

    package init(stopped: String) { self.stopped = stopped }
  }
  package var session: String

  package init(session: String) { self.session = session }
}

package struct SessionQuestionsRequest: WireRequest {
  package static let method = "session.questions"

  package struct Reply: Codable, Sendable, Equatable {
    /// Oldest first.
    package var questions: [OpenQuestion]

    package init(questions: [OpenQuestion]) { self.questions = questions }
  }
  package var session: String

  package init(session: String) { self.session = session }
}

package struct SessionAnswerRequest: WireRequest {
  package static let method = "session.answer"

  package struct Reply: Codable, Sendable, Equatable {
    /// The answer as it was understood.
    package var answer: String

    package init(answer: String) { self.answer = answer }
  }
  package var session: String
  /// `nil` for the question that has waited longest.
  package var question: String?
  /// A number or a label of the options, yes or no, or the text itself; `nil` cancels the question.
  package var answer: String?

  package init(session: String, question: String? = nil, answer: String? = nil) {
    self.session = session
    self.question = question
    self.answer = answer
  }
}

package struct SessionRenameRequest: WireRequest {
  package static let method = "session.rename"

  package struct Reply: Codable, Sendable, Equatable {
    /// The name that the session has now: where another has the one that was wished for, a number follows.
    package var name: String

    package init(name: String) { self.name = name }
  }
  package var session: String
  package var name: String

  package init(session: String, name: String) {
    self.session = session
    self.name = name
  }
}

/// Uses another model from the next run on.
package struct SessionModelRequest: WireRequest {
  package static let method = "session.model"
  package typealias Reply = Empty
  package var session: String
  package var model: String

  package init(session: String, model: String) {
    self.session = session
    self.model = model
  }
}

/// Shortens the context when everything before has run; answered before, an event tells of the end.
package struct SessionCompactRequest: WireRequest {
  package static let method = "session.compact"
  package typealias Reply = Empty
  package var session: String
  package var instructions: String?

  package init(session: String, instructions: String? = nil) {
    self.session = session
    self.instructions = instructions
  }
}

package struct SessionCloseRequest: WireRequest {
  package static let method = "session.close"
  package typealias Reply = Empty
  package var session: String

  package init(session: String) { self.session = session }
}

/// From now on the session's events come as notifications, `SessionEventNotification`.
package struct SessionSubscribeRequest: WireRequest {
  package static let method = "session.subscribe"

  /// The session as it is where its events begin.
  package struct Reply: Codable, Sendable, Equatable {
    package var session: SessionStatus
    package var questions: [OpenQuestion]

    package init(session: SessionStatus, questions: [OpenQuestion]) {
      self.session = session
      self.questions = questions
    }
  }
  package var session: String

  package init(session: String) { self.session = session }
}

package struct SessionUnsubscribeRequest: WireRequest {
  package static let method = "session.unsubscribe"
  package typealias Reply = Empty
  package var session: String

  package init(session: String) { self.session = session }
}

package enum ControlNotification {
  /// An event of a session; its parameters are a `SessionReport`.
  package static let sessionEvent = "session.event"
  /// The daemon ends the connection.
  package static let closing = "control.closing"

  package struct Closing: Codable, Sendable, Equatable {
    package var reason: String

    package init(reason: String) { self.reason = reason }
  }
}
