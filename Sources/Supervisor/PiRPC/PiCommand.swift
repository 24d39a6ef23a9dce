internal import RelayWire

/// An image as pi takes it: base64 without line breaks.
package struct PiImage: Sendable, Equatable, Encodable {
  package let type = "image"
  package var data: String
  package var mimeType: String

  package init(data: String, mimeType: String) {
    self.data = data
    self.mimeType = mimeType
  }
}

/// What we say to pi. Each becomes one line with an id of ours.
package enum PiCommand: Sendable, Equatable {
  case prompt(String, images: [PiImage])
  case steer(String, images: [PiImage])
  case abort
  case clearQueue
  case compact(instructions: String?)
  case getState
  case getCommands
  case getAvailableModels
  /// Entries after the one named, or all.
  case getEntries(since: String?)
  case setSessionName(String)

  package var name: String {
    switch self {
    case .prompt: "prompt"
    case .steer: "steer"
    case .abort: "abort"
    case .clearQueue: "clear_queue"
    case .compact: "compact"
    case .getState: "get_state"
    case .getCommands: "get_commands"
    case .getAvailableModels: "get_available_models"
    case .getEntries: "get_entries"
    case .setSessionName: "set_session_name"
    }
  }

  private struct Line: Encodable {
    var id: String
    var type: String
    var message: String?
    var images: [PiImage]?
    var customInstructions: String?
    var since: String?
    var name: String?
  }

  /// The command as a line, newline included.
  package func line(id: String) throws -> [UInt8] {
    var line = Line(id: id, type: name)
    switch self {
    case .prompt(let text, let images), .steer(let text, let images):
      line.message = text
      line.images = images.isEmpty ? nil : images
    case .compact(let instructions): line.customInstructions = instructions
    case .getEntries(let since): line.since = since
    case .setSessionName(let name): line.name = name
    case .abort, .clearQueue, .getState, .getCommands, .getAvailableModels: break
    }
    return try JSONCoding.encode(line) + [0x0A]
  }
}

/// The answer to a dialog of the agent.
package enum PiDialogAnswer: Sendable, Equatable, Encodable {
  case value(String)
  case confirmed(Bool)
  case cancelled

  private struct Line: Encodable {
    let type = "extension_ui_response"
    var id: String
    var value: String?
    var confirmed: Bool?
    var cancelled: Bool?
  }

  package func line(id: String) throws -> [UInt8] {
    var line = Line(id: id)
    switch self {
    case .value(let text): line.value = text
    case .confirmed(let flag): line.confirmed = flag
    case .cancelled: line.cancelled = true
    }
    return try JSONCoding.encode(line) + [0x0A]
  }
}
