public import RelayJSON

/// `setup`: instead of `initialize`, on a connection of its own: ask the person what is needed, try it, and say what goes
/// into the configuration.
public struct SetupRequest: WireRequest {
  public static let method = "setup"
  public static let replyForm = "{settings: {*: any}, secrets: {*: string}, users: [string]}"
  public typealias Reply = SetupReply

  /// The settings that are known already: those of an existing configuration, or given with the command.
  public var config: JSONValue

  public init(config: JSONValue) { self.config = config }
}

/// The answer of `setup`.
public struct SetupReply: Codable, Sendable, Equatable {
  /// The instance's own settings, without secrets.
  public var settings: [String: JSONValue]
  /// By the setting's name. Each is kept in a file of its own.
  public var secrets: [String: String]
  /// The people who may talk to the agent, by the platform's ids.
  public var users: [String]

  public init(settings: [String: JSONValue], secrets: [String: String], users: [String]) {
    self.settings = settings
    self.secrets = secrets
    self.users = users
  }
}

/// `setup.say`: something for the person to read.
public struct SetupSay: WireRequest {
  public static let method = "setup.say"
  public typealias Reply = Empty

  /// The text for the person, who sees it at once.
  public var text: String

  public init(text: String) { self.text = text }
}

/// `setup.ask`: a question to the person.
public struct SetupAsk: WireRequest {
  public static let method = "setup.ask"
  public static let replyForm = "{answer: string}"

  /// The answer of `setup.ask`.
  public struct Reply: Codable, Sendable {
    /// The line that the person typed, or that was given with the command.
    public var answer: String
    public init(answer: String) { self.answer = answer }
  }

  /// By which the answer may be given with the command.
  public var name: String
  /// The question, which is shown before the answer is typed.
  public var question: String
  /// Not shown while it is typed, and never taken from the command line.
  public var secret: Bool?

  public init(name: String, question: String, secret: Bool? = nil) {
    self.name = name
    self.question = question
    self.secret = secret
  }
}

/// `check`: instead of `initialize`: look whether the configuration works, and say what is wrong.
public struct CheckRequest: WireRequest {
  public static let method = "check"
  public static let replyForm = "{findings: [{isGood: boolean, text: string}]}"

  /// The answer of `check`.
  public struct Reply: Codable, Sendable {
    /// The findings, in the order in which the person is shown them.
    public var findings: [Finding]
    public init(findings: [Finding]) { self.findings = findings }
  }

  /// A finding of the check.
  public struct Finding: Codable, Sendable, Equatable {
    /// False for a fault.
    public var isGood: Bool
    /// The fact, and the remedy where it is not good.
    public var text: String

    public init(_ isGood: Bool, _ text: String) {
      self.isGood = isGood
      self.text = text
    }
  }

  /// The instance's own configuration subtree, secrets included.
  public var config: JSONValue
  /// The state that the instance has saved, which may say what went wrong while it ran; `nil` where it has saved none.
  public var state: JSONValue?

  public init(config: JSONValue, state: JSONValue? = nil) {
    self.config = config
    self.state = state
  }
}
