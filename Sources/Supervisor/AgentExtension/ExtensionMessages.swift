package import RelayJSON
package import RelayWire

// The requests of the extension over the control socket. The daemon knows by the connection's process which session's agent
// the extension runs in.

/// The first request of an extension.
package struct ExtensionHello: WireRequest, Equatable {
  package static let method = "extension.hello"

  package struct Reply: Codable, Sendable, Equatable {
    package var machine: String
    package var session: NamedSession
    package var approvals: ApprovalSettings

    package init(machine: String, session: NamedSession, approvals: ApprovalSettings) {
      self.machine = machine
      self.session = session
      self.approvals = approvals
    }
  }

  /// The extension's release.
  package var version: String?
  /// The session that the extension takes itself to be of.
  package var session: String?

  package init(version: String? = nil, session: String? = nil) {
    self.version = version
    self.session = session
  }
}

package struct NamedSession: Codable, Sendable, Equatable {
  package var id: String
  package var name: String

  package init(id: String, name: String) {
    self.id = id
    self.name = name
  }
}

/// The settings of approvals as far as the extension works with them.
package struct ApprovalSettings: Codable, Sendable, Equatable {
  /// Tool calls are submitted with `extension.approve`.
  package var enabled: Bool
  /// How long a person has to decide.
  package var timeoutSeconds: Int

  package init(enabled: Bool, timeoutSeconds: Int) {
    self.enabled = enabled
    self.timeoutSeconds = timeoutSeconds
  }
}

/// Tells the extension settings that have changed: a notification of the daemon's.
package struct ExtensionSettings: Codable, Sendable, Equatable {
  package static let method = "extension.settings"
  package var approvals: ApprovalSettings

  package init(approvals: ApprovalSettings) { self.approvals = approvals }
}

/// Shows a text in the conversation whose message the agent works on.
package struct ExtensionSend: WireRequest, Equatable {
  package static let method = "extension.send"
  package typealias Reply = Empty
  package var text: String

  package init(text: String) { self.text = text }
}

/// Sends a file of the agent's workspace to the conversation whose message the agent works on.
package struct ExtensionSendFile: WireRequest, Equatable {
  package static let method = "extension.sendFile"

  package struct Reply: Codable, Sendable, Equatable {
    /// The name that people see.
    package var name: String

    package init(name: String) { self.name = name }
  }

  /// Relative to the agent's working directory.
  package var path: String
  package var caption: String?

  package init(path: String, caption: String? = nil) {
    self.path = path
    self.caption = caption
  }
}

/// Begins a session.
package struct ExtensionSpawn: WireRequest, Equatable {
  package static let method = "extension.spawn"

  package struct Reply: Codable, Sendable, Equatable {
    package var session: NamedSession

    package init(session: NamedSession) { self.session = session }
  }

  /// A folder within `sessions.roots`; `nil` for that of the agent's session.
  package var directory: String?
  package var name: String?
  /// The session's first message.
  package var task: String?

  package init(directory: String? = nil, name: String? = nil, task: String? = nil) {
    self.directory = directory
    self.name = name
    self.task = task
  }
}

/// Asks whether a tool call may be made. Answered when the rules or a person have decided.
package struct ExtensionApprove: WireRequest, Equatable {
  package static let method = "extension.approve"

  package struct Reply: Codable, Sendable, Equatable {
    package enum Decision: String, Codable, Sendable { case allow, deny }

    package var decision: Decision
    /// The reason of a denial, in words for the agent.
    package var reason: String?
    /// The name of the person who decided, or whose grant it is; `nil` where the rules decided.
    package var by: String?

    package init(decision: Decision, reason: String? = nil, by person: String? = nil) {
      self.decision = decision
      self.reason = reason
      by = person
    }
  }

  /// pi's id of the tool call.
  package var call: String
  package var tool: String
  /// The tool's input, as the model gave it.
  package var input: JSONValue
  /// The texts of the input are cut, as the whole would not fit into a line.
  package var truncated: Bool?
  /// The agent's working directory; `nil` for that of its session.
  package var cwd: String?
  /// How long the extension waits for the decision.
  package var withinSeconds: Int?

  package init(
    call: String, tool: String, input: JSONValue, truncated: Bool? = nil, cwd: String? = nil, withinSeconds: Int? = nil
  ) {
    self.call = call
    self.tool = tool
    self.input = input
    self.truncated = truncated
    self.cwd = cwd
    self.withinSeconds = withinSeconds
  }
}

/// Takes back a request of the same connection, whose answer nobody waits for any more: a call that waits for a person's
/// approval is denied. A request that waits for nobody goes on.
package struct ExtensionWithdraw: WireRequest, Equatable {
  package static let method = "extension.withdraw"
  package typealias Reply = Empty
  /// The id of the request.
  package var request: RequestID

  package init(request: RequestID) { self.request = request }
}

/// The state of the agent's own session, in words for the person at the terminal.
package struct ExtensionStatus: WireRequest, Equatable {
  package static let method = "relay.status"

  package struct Reply: Codable, Sendable, Equatable {
    package var text: String

    package init(text: String) { self.text = text }
  }

  package init() {}
}

/// The latest steps of the approvals of the agent's own session, in words.
package struct ExtensionApprovals: WireRequest, Equatable {
  package static let method = "relay.approvals"
  package typealias Reply = ExtensionStatus.Reply
  package init() {}
}

/// The sessions of the daemon, in words. Only pi in a terminal is told of others than its own.
package struct TerminalSessions: WireRequest, Equatable {
  package static let method = "relay.sessions"
  package typealias Reply = ExtensionStatus.Reply
  /// From 1.
  package var page: Int?

  package init(page: Int? = nil) { self.page = page }
}

// The following requests are only for pi in a terminal itself, where a person makes them.

/// The findings of the running daemon, in words.
package struct TerminalDoctor: WireRequest, Equatable {
  package static let method = "relay.doctor"
  package typealias Reply = ExtensionStatus.Reply
  package init() {}
}

/// Sends a file of the session's directory to the chats that follow it.
package struct TerminalSendFile: WireRequest, Equatable {
  package static let method = "relay.sendFile"
  package typealias Reply = ExtensionStatus.Reply
  /// Relative to the session's directory.
  package var path: String
  package var caption: String?

  package init(path: String, caption: String? = nil) {
    self.path = path
    self.caption = caption
  }
}

/// Takes the session away from all chats.
package struct TerminalDisconnect: WireRequest, Equatable {
  package static let method = "relay.disconnect"
  package typealias Reply = ExtensionStatus.Reply
  package init() {}
}

/// The last request of a connection: the person ends or leaves the session.
package struct SessionDetach: WireRequest, Equatable {
  package static let method = "session.detach"
  package typealias Reply = Empty
  /// `disconnect`, or pi's own word: `quit`; `new`, `resume`, `fork` where the terminal turns to another session; `reload`.
  package var reason: String?

  package init(reason: String? = nil) { self.reason = reason }
}
