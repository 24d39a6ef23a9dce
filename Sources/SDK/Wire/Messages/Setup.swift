/// `setup`: instead of `initialize`, on a connection of its own: ask the person what is needed, try it, and say what goes
/// into the configuration.
public struct SetupRequest: WireRequest {
  public static let method = "setup"
  public static let replyForm = "{settings: {*: any}, secrets: {*: string}, users: [string]}"
  public typealias Reply = SetupReply

  /// What is known already: of the configuration there is, or given with the command.
  public var config: JSONValue

  public init(config: JSONValue) { self.config = config }
}

public struct SetupReply: Codable, Sendable, Equatable {
  /// The instance's own settings, without secrets.
  public var settings: [String: JSONValue]
  /// By the setting's name. Each is kept in a file of its own.
  public var secrets: [String: String]
  /// Who may talk to the agent, as the platform knows them.
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

  public var text: String

  public init(text: String) { self.text = text }
}

/// `setup.ask`: a question to the person.
public struct SetupAsk: WireRequest {
  public static let method = "setup.ask"
  public static let replyForm = "{answer: string}"

  public struct Reply: Codable, Sendable {
    public var answer: String
    public init(answer: String) { self.answer = answer }
  }

  /// By which the answer may be given with the command.
  public var name: String
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

  public struct Reply: Codable, Sendable {
    public var findings: [Finding]
    public init(findings: [Finding]) { self.findings = findings }
  }

  public struct Finding: Codable, Sendable, Equatable {
    public var isGood: Bool
    /// What was found, and what to do where it is not good.
    public var text: String

    public init(_ isGood: Bool, _ text: String) {
      self.isGood = isGood
      self.text = text
    }
  }

  public var config: JSONValue
  /// What the instance has kept, which may say what went wrong while it ran.
  public var state: JSONValue?

  public init(config: JSONValue, state: JSONValue? = nil) {
    self.config = config
    self.state = state
  }
}
