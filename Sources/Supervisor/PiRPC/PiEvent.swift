package import RelayJSON
internal import RelayWire

/// An event or an answer of pi, as far as the supervisor needs it. Text deltas do not appear: they take the scanner's
/// fast way.
package enum PiEvent: Sendable, Equatable {
  case response(PiResponse)
  case agentStart
  /// `willRetry` is nil where pi does not say (older releases, or a line too long to keep).
  case agentEnd(willRetry: Bool?)
  /// Nothing further will happen by itself (newer releases).
  case agentSettled
  /// `text` is nil for a message of another role than `user`, one with images, and one too long to keep.
  case messageStart(role: String, text: String?)
  /// A person has typed a message in the agent's own terminal.
  case typed(String)
  case messageEnd(PiMessage)
  case toolStart(id: String, name: String, arguments: JSONValue)
  case toolEnd(id: String, name: String, failed: Bool, images: [PiImage])
  case compactionStart(reason: String?)
  case compactionEnd(aborted: Bool, willRetry: Bool, tokensBefore: Int64?, error: String?)
  case retryStart(attempt: Int64, of: Int64, delayMilliseconds: Int64, error: String?)
  case retryEnd(succeeded: Bool, error: String?)
  case dialog(PiDialog)
  /// A question was settled in the agent's own terminal, or there is no use for an answer any more.
  case dialogWithdrawn(id: String, why: String)
  case notify(message: String, kind: String?)
  case extensionError(path: String?, message: String)
  case sessionName(String?)
  /// A type that needs nothing done, or one this version does not know.
  case other(type: String)
  /// Not one of pi's lines: an extension printed it, or a colour code came first.
  case noise(beginning: String)
}

/// A finished message of the conversation; for an assistant's, the authoritative text.
package struct PiMessage: Sendable, Equatable {
  package var role: String
  package var text: String
  package var stopReason: String?
  package var errorMessage: String?
}

/// A question of the agent that waits for `extension_ui_response`.
package struct PiDialog: Codable, Sendable, Equatable {
  package enum Kind: String, Codable, Sendable { case select, confirm, input, editor }

  package var id: String
  package var kind: Kind
  package var title: String
  package var message: String?
  package var options: [String]
  package var placeholder: String?
  package var prefill: String?
  /// Milliseconds after which pi answers by itself.
  package var timeout: Int64?

  package init(
    id: String, kind: Kind, title: String, message: String? = nil, options: [String] = [], placeholder: String? = nil,
    prefill: String? = nil, timeout: Int64? = nil
  ) {
    self.id = id
    self.kind = kind
    self.title = title
    self.message = message
    self.options = options
    self.placeholder = placeholder
    self.prefill = prefill
    self.timeout = timeout
  }
}

/// The answer to a command of ours. Older releases leave out the id of some failures.
package struct PiResponse: Sendable, Equatable {
  package var id: String?
  package var command: String?
  package var success: Bool
  package var error: String?
  /// The line itself, for reading `data`.
  package var line: [UInt8]

  private struct Body<Payload: Decodable>: Decodable { var data: Payload }

  /// Reads `data`.
  package func data<Payload: Decodable>(_ type: Payload.Type) throws -> Payload {
    try JSONCoding.decode(Body<Payload>.self, from: line).data
  }
}

extension PiResponse {
  /// `data.leafId` of an answer to `get_entries`, found without decoding the entries before it: a session may have
  /// thousands.
  package var leafID: String? {
    line.withUnsafeBytes { bytes in
      var leaf: String?
      var cursor = JSONCursor(bytes)
      _ = cursor.members { key, cursor in
        guard key.equals("data") else { return true }
        return cursor.members { key, cursor in
          if key.equals("leafId") { leaf = cursor.text() }
          return true
        }
      }
      return leaf
    }
  }
}

// The contents of the answers that are read; a member that some release leaves out is optional.

package struct PiState: Codable, Sendable, Equatable {
  package struct Model: Codable, Sendable, Equatable {
    package var id: String
    package var name: String?
    package var provider: String?
    package var input: [String]?
    package var contextWindow: Int?
  }
  package var model: Model?
  package var thinkingLevel: String?
  package var isStreaming: Bool?
  package var isCompacting: Bool?
  package var sessionFile: String?
  package var sessionId: String?
  package var sessionName: String?
  package var messageCount: Int?
}

/// The fate of a message that was given to a pi in a terminal, in the answer of its extension.
package struct PiDisposition: Decodable, Sendable, Equatable {
  package enum Kind: String, Decodable, Sendable {
    /// A run has taken it.
    case started
    /// It waits in pi.
    case queued
    /// It was a command; no run need follow.
    case handled
  }

  package var disposition: Kind
}

package struct PiCommandList: Decodable, Sendable, Equatable {
  package struct Command: Decodable, Sendable, Equatable {
    package var name: String
    package var description: String?
    package var source: String?
  }
  package var commands: [Command]
}

package struct PiCompaction: Decodable, Sendable, Equatable {
  package var tokensBefore: Int64?
}

package struct PiModelList: Decodable, Sendable, Equatable {
  package var models: [PiState.Model]
}

package struct PiEntries: Decodable, Sendable, Equatable {
  package struct Entry: Decodable, Sendable, Equatable {
    package struct Message: Decodable, Sendable, Equatable {
      package var role: String
    }
    package var type: String
    package var id: String?
    package var message: Message?
  }
  package var entries: [Entry]
  package var leafId: String?

  /// Indicates that the person's message is among the entries.
  package var holdUserMessage: Bool { entries.contains { $0.message?.role == "user" } }
}
