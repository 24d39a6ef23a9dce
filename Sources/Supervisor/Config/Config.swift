package import RelayJSON
internal import RelayText
package import RelayWire

/// The configuration that the supervisor works from: every setting, checked, with its default.
package struct Config: Sendable, Equatable {
  package var machine = Machine()
  package var pi = Pi()
  package var sessions = Sessions()
  package var assistant = Assistant()
  package var approvals = Approvals()
  package var pairing = Pairing()
  package var messengers: [Messenger] = []
  package var plugins: [String: Plugin] = [:]
  package var restart = Restart()
  package var logging = Logging()
  package var shutdown = ShutdownSettings()
  package var delivery = DeliverySettings()
  package var storage = Storage()
  package var bridge = Bridge()
  /// Names of environment variables that hold secrets of messengers: agents do not get them.
  package var secretVariables: Set<String> = []

  package init() {}

  package struct Machine: Sendable, Equatable {
    /// `nil` means the host's name.
    package var name: String?
  }

  package struct Pi: Sendable, Equatable {
    /// `nil` means `pi` on PATH, or the demo agent when that is not usable.
    package var executable: String?
    package var arguments: [String] = []
    package var model: String?
    package var provider: String?
    package var environment: [String: String] = [:]
    /// The extension that pi runs with: a folder. `nil`: the one that was installed with the daemon.
    package var extensionFolder: String?
    package var loadsExtension = true
    /// How long pi may take to answer its first request, and any request after it.
    package var answerTimeout: Duration = .seconds(30)
  }

  package struct Sessions: Sendable, Equatable {
    package enum Leftovers: String, Sendable, CaseIterable { case kill, keep }

    /// Where new sessions work; nil: the home folder.
    package var directory: String?
    /// pi processes at once.
    package var maximum = 8
    /// pi processes starting at once: ten at once take seven seconds, one takes one.
    package var maximumStarting = 2
    package var idleTimeout: Duration? = .seconds(30 * 60)
    /// A run that takes longer is aborted. Nil: no limit.
    package var callTimeout: Duration?
    /// The silence of an agent in the middle of a run after which the person is asked what to do. `nil`: never.
    package var silenceTimeout: Duration? = .seconds(600)
    /// How long a question waits for a person, where the agent sets no limit. `nil`: without a limit.
    package var questionTimeout: Duration? = .seconds(86_400)
    package var leftovers = Leftovers.kill
    /// An agent's processes may look at other sessions, send them messages, interrupt them and begin new ones.
    package var agentsReachOthers = false
    /// Folders in which, and beneath which, people may have sessions begun from chat.
    package var roots: [String] = []
    /// Messages waiting for one session.
    package var maximumQueued = 100
  }

  package enum Output: String, Codable, Sendable, CaseIterable { case final, stream, preview }
  package enum Images: String, Codable, Sendable, CaseIterable { case explicit, automatic }
  package enum Busy: String, Sendable, CaseIterable { case followUp, steer }

  /// Which session a conversation talks to.
  package enum Use: String, Sendable, CaseIterable {
    /// A session of the conversation's own, which its first message starts; `/use` chooses another.
    case own
    /// The one that was chosen with `/sessions`; until then none.
    case control
    /// The machine's one main session.
    case main
    /// A session of the conversation's own with the settings of `assistant`, whose transcript does not last.
    case assistant
  }

  /// Settings of one conversation, or of all of a kind, that replace those of the whole messenger.
  package struct ConversationSettings: Sendable, Equatable {
    package var use: Use?
    package var output: Output?
    package var images: Images?
    package var busy: Busy?
    /// Heard only where the bot is mentioned or replied to.
    package var mention: Bool?

    package init() {}
  }

  /// An instance of a messenger.
  package struct Messenger: Sendable, Equatable {
    package var kind: String
    package var instance: String
    package var enabled = true
    /// Variables alone speak of it, which may be meant for another program.
    package var isImplied = false
    package var access = Access()
    /// `nil` means `final` where a session is only looked in on, `stream` elsewhere.
    package var output: Output?
    package var images = Images.explicit
    package var busy = Busy.followUp
    /// By a conversation's id, or by its kind: `dm`, `channel`, `thread`.
    package var conversations: [String: ConversationSettings] = [:]
    /// Milliseconds between edits of a streamed message; nil: the messenger's own, or 800.
    package var editInterval: Duration?
    package var proxy: String?
    /// Settings for the plugin itself, shorthands resolved.
    package var settings: JSONValue = .object([:])
    /// The file itself contains a secret.
    package var hasLiteralSecret = false

    package init(kind: String, instance: String) {
      self.kind = kind
      self.instance = instance
    }

    package var name: String { "\(kind)/\(instance)" }

    /// The settings that hold in a conversation.
    package func settings(of conversation: Conversation) -> ConversationSettings {
      let own = conversations[conversation.id] ?? ConversationSettings()
      let ofKind = conversations[conversation.kind.rawValue] ?? ConversationSettings()
      var settings = ConversationSettings()
      let use = own.use ?? ofKind.use ?? (conversation.kind == .channel ? .main : .own)
      settings.use = use
      // A person who only looks in wants the result.
      settings.output = own.output ?? ofKind.output ?? (use == .control && output == nil ? .final : output)
      settings.images = own.images ?? ofKind.images ?? images
      settings.busy = own.busy ?? ofKind.busy ?? busy
      settings.mention = own.mention ?? ofKind.mention ?? (use == .assistant && conversation.kind != .dm)
      return settings
    }
  }

  /// The people who may use a messenger. Empty admits nobody.
  package struct Access: Sendable, Equatable {
    package var users: Set<String> = []
    package var roles: Set<String> = []
    package var everyone = false

    package init() {}

    /// - Parameter roles: of the person, where the messenger tells them.
    package func admits(_ person: String, roles: [String] = []) -> Bool {
      everyone || users.contains(person) || !self.roles.isDisjoint(with: roles)
    }

    package var admitsNobody: Bool { users.isEmpty && roles.isEmpty && !everyone }
  }

  package struct Pairing: Sendable, Equatable {
    /// How long a code waits for a person.
    package var expiry: Duration = .seconds(300)
    static let expiries = 30...3_600

    package init() {}
  }

  package struct Plugin: Sendable, Equatable {
    package var enabled = true
    package var settings: JSONValue = .object([:])
    /// The file itself contains a secret.
    package var hasLiteralSecret = false

    package init() {}
  }

  package struct Restart: Sendable, Equatable {
    package var firstDelay: Duration = .milliseconds(250)
    package var maximumDelay: Duration = .seconds(60)
    package var failingCount = 5
    package var failingWindow: Duration = .seconds(60)
  }

  package struct Logging: Sendable, Equatable {
    package enum Level: String, Sendable, CaseIterable { case debug, info, notice, warning, error }

    /// Lines of the daemon's log below this level are left out. Changed by a reload.
    package var level = Level.info
    /// Of every log file; read at the start, as `keep` is.
    package var maximumBytes = 10 << 20
    package var keep = 3
  }

  /// The sockets by which `pi-bridge` and other clients of its protocol reach sessions.
  package struct Bridge: Sendable, Equatable {
    package var enabled = true
    /// The folder of sockets and registry files; `nil`: the protocol's own under the folder for temporary files.
    package var directory: String?
    /// Events that a session's history keeps.
    package var historyLimit = 500
    /// Bytes of an event's data as clients see it by default.
    package var maximumEventBytes = 8 * 1024
    /// Bytes of one answer with history, for clients that ask for no other limit.
    package var maximumHistoryResponseBytes = 1 << 20
    /// Bytes of the beginning that is shown of a long value.
    package var previewBytes = 256
    /// Keeps whole events in a file, for clients that ask for them.
    package var keepsWholeEvents = true
    /// Bytes of that file.
    package var maximumFileBytes = 16 << 20
    /// Bytes of one request.
    package var maximumLineBytes = 1 << 20
    /// The interval at which registry files are written anew; `nil`: only when something changes.
    package var heartbeat: Duration? = .seconds(15)
  }

  package struct Storage: Sendable, Equatable {
    /// How long what has ended is remembered, so that a repeat of it is known.
    package var keep: Duration = .seconds(30 * 86_400)
  }

  package struct ShutdownSettings: Sendable, Equatable {
    /// How long running answers may take to finish.
    package var drain: Duration = .seconds(20)
    /// Sends a notice to conversations when the daemon stops.
    package var tellsConversations = false
    /// The longest time that an orderly stop takes: agents and plugins end within less than a minute after draining.
    package var maximumDuration: Duration { drain + .seconds(60) }
  }

  package struct DeliverySettings: Sendable, Equatable {
    /// Tries of one send before it is given up: about ten minutes in all.
    package var attempts = 24
    /// Sends a notice to a conversation when a message to it is given up.
    package var tellsConversations = true
    /// Regular expressions of what no conversation is shown, and `usual` for those of well-known secrets.
    package var redact = [Redactor.builtInName]

    package init() {}
  }
}
