internal import RelayJSON
internal import RelayWire

/// An image as pi takes it: base64 without line breaks.
package struct PiImage: Sendable, Equatable {
  package var data: String
  package var mimeType: String

  package init(data: String, mimeType: String) {
    self.data = data
    self.mimeType = mimeType
  }
}

/// A command to pi. Each becomes one line with an id of the supervisor's.
package enum PiCommand: Sendable, Equatable {
  case prompt(String, images: [PiImage])
  case steer(String, images: [PiImage])
  case abort
  case clearQueue
  case compact(instructions: String?)
  case getState
  case getSessionStats
  case getCommands
  case getAvailableModels
  /// Entries after the one named, or all.
  case getEntries(since: String?)
  case setSessionName(String)
  /// Of a pi in a person's own terminal, whose settings are that person's.
  case setModel(provider: String?, id: String)
  /// Ends a pi in a person's own terminal; known to the extension only.
  case shutdown

  package var name: String {
    switch self {
    case .prompt: "prompt"
    case .steer: "steer"
    case .abort: "abort"
    case .clearQueue: "clear_queue"
    case .compact: "compact"
    case .getState: "get_state"
    case .getSessionStats: "get_session_stats"
    case .getCommands: "get_commands"
    case .getAvailableModels: "get_available_models"
    case .getEntries: "get_entries"
    case .setSessionName: "set_session_name"
    case .setModel: "set_model"
    case .shutdown: "shutdown"
    }
  }

  /// The command as a line, newline included.
  package func line(id: String) -> [UInt8] {
    var line = Array(#"{"id":"#.utf8)
    JSONText.quote(id, into: &line)
    line += #","type":"\#(name)""#.utf8
    func add(_ name: String, _ text: String?) {
      guard let text else { return }
      line += #","\#(name)":"#.utf8
      JSONText.quote(text, into: &line)
    }
    switch self {
    case .prompt(let text, let images), .steer(let text, let images):
      add("message", text)
      Self.add(images, to: &line)
    case .compact(let instructions): add("customInstructions", instructions)
    case .getEntries(let since): add("since", since)
    case .setSessionName(let name): add("name", name)
    case .setModel(let provider, let id):
      add("provider", provider)
      add("modelId", id)
    case .abort, .clearQueue, .getState, .getSessionStats, .getCommands, .getAvailableModels, .shutdown: break
    }
    return line + [UInt8(ascii: "}"), 0x0A]
  }

  private static func add(_ images: [PiImage], to line: inout [UInt8]) {
    guard !images.isEmpty else { return }
    line += #","images":["#.utf8
    for (index, image) in images.enumerated() {
      line += (index == 0 ? "" : ",").utf8
      line += #"{"type":"image","data":"#.utf8
      JSONText.quote(image.data, into: &line)
      line += #","mimeType":"#.utf8
      JSONText.quote(image.mimeType, into: &line)
      line.append(UInt8(ascii: "}"))
    }
    line.append(UInt8(ascii: "]"))
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
