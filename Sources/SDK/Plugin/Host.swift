internal import RelayConcurrency
public import RelayJSON
internal import RelayTransport

/// The host as a plugin sees it.
public struct Host: Sendable {
  /// This instance's name, configuration subtree, saved state and folders.
  public let about: InitializeRequest
  private let peer: JSONRPCConnection
  private let greeting = Locked(Greeting.underWay(problem: nil))

  private enum Greeting {
    case underWay(problem: String?)
    case over
  }

  /// How long the host may take to store something.
  static let answerLimit: Duration = .seconds(60)

  init(about: InitializeRequest, peer: JSONRPCConnection) {
    self.about = about
    self.peer = peer
  }

  /// The configuration subtree as a type of the plugin's own.
  ///
  /// - Throws: `ConfigurationProblems` naming the path that does not fit.
  public func config<Settings: Decodable>(as type: Settings.Type) throws -> Settings {
    try about.config.settings(as: type)
  }

  /// Hands over a message. Returns once it is stored: only then may the platform's cursor move past it.
  @discardableResult
  public func received(_ message: MessageReceived) async throws -> MessageReceived.Reply {
    try await retryWhileBusy(message)
  }

  /// Hands over a message's new text. Returns once the change is stored.
  @discardableResult
  public func edited(_ message: MessageEdited) async throws -> Empty { try await retryWhileBusy(message) }

  /// Hands over that a message was deleted. Returns once that is stored.
  @discardableResult
  public func deleted(_ message: MessageDeleted) async throws -> Empty { try await retryWhileBusy(message) }

  /// Hands over a native command. Returns once it is stored; where the reply has `refused`, the plugin tells the
  /// person.
  @discardableResult
  public func invoked(_ command: CommandInvoked) async throws -> CommandInvoked.Reply {
    try await retryWhileBusy(command)
  }

  /// Hands over the press of a button, or the text of a form. Returns once it is stored; where the reply has `refused`,
  /// the plugin tells the person.
  @discardableResult
  public func invoked(_ action: ActionInvoked) async throws -> ActionInvoked.Reply { try await retryWhileBusy(action) }

  /// The place no longer exists, or was archived.
  @discardableResult
  public func closed(_ closing: ConversationClosed) async throws -> Empty { try await retryWhileBusy(closing) }

  /// The place is back.
  @discardableResult
  public func reopened(_ reopening: ConversationReopened) async throws -> Empty { try await retryWhileBusy(reopening) }

  /// Hands over a mark on a message, from which nothing follows yet.
  @discardableResult
  public func reacted(_ reaction: ReactionAdded) async throws -> Empty { try await retryWhileBusy(reaction) }

  /// Asks for completions of a command line, for at most 2 s.
  ///
  /// - Returns: whole lines; none for a sender who is not authorised.
  public func completions(_ ask: CommandComplete) async throws -> [String] {
    try await peer.request(ask, within: .seconds(2)).completions
  }

  /// Stores a small value that comes back in `about.state` of the next process.
  public func save(state: JSONValue) async throws {
    _ = try await retryWhileBusy(StateSave(state: state))
  }

  /// Tells the person what keeps this plugin from its work, and what to do about it; nil once that is over. Called in the
  /// plugin's `init`, it goes with the answer, so that the plugin is never shown to be well before.
  public func report(problem: String?) async throws {
    if begin(with: problem) { return }
    _ = try await retryWhileBusy(ProblemReport(problem: problem))
  }

  /// Reports a problem in the plugin's `init`.
  ///
  /// - Returns: false once that is over.
  @discardableResult
  package func begin(with problem: String?) -> Bool {
    greeting.withLock { greeting in
      guard case .underWay = greeting else { return false }
      greeting = .underWay(problem: problem)
      return true
    }
  }

  /// The problem reported in the plugin's `init`.
  func endGreeting() -> String? {
    greeting.withLock { greeting in
      defer { greeting = .over }
      if case .underWay(let problem) = greeting { return problem }
      return nil
    }
  }

  /// Asks until the host is no longer busy.
  private func retryWhileBusy<Request: WireRequest>(_ request: Request) async throws -> Request.Reply {
    var backoff = ExponentialBackoff(from: .milliseconds(50), to: .seconds(2))
    while true {
      do {
        return try await peer.request(request, within: Self.answerLimit)
      } catch {
        guard case .refused(let refusal) = error, refusal.code == .busy else { throw error }
        try await Task.sleep(for: backoff.next())
      }
    }
  }

  /// Writes a line to the instance's log.
  public func log(_ line: String) {
    StandardError.say(line)
  }
}

extension JSONValue {
  /// A configuration subtree as a type of the plugin's own.
  ///
  /// - Throws: `ConfigurationProblems` naming the path that does not fit.
  public func settings<Settings: Decodable>(as type: Settings.Type) throws -> Settings {
    do {
      return try JSONCoding.convert(self, to: type)
    } catch let error as DecodingError {
      throw ConfigurationProblems([error.problem(in: self)])
    }
  }

  fileprivate func value(at path: [any CodingKey]) -> JSONValue? {
    path.reduce(Optional(self)) { value, key in
      guard let index = key.intValue else { return value?[key.stringValue] }
      guard case .array(let items)? = value, items.indices.contains(index) else { return nil }
      return items[index]
    }
  }
}

extension DecodingError {
  fileprivate func problem(in config: JSONValue) -> ConfigurationProblem {
    func path(_ keys: [any CodingKey]) -> String {
      keys.map { key in key.intValue.map { "\($0)" } ?? key.stringValue }.joined(separator: ".")
    }
    return switch self {
    case .typeMismatch(let type, let context) where type == String.self:
      if case .integer(let number)? = config.value(at: context.codingPath) {
        ConfigurationProblem(path: path(context.codingPath), message: "is a number; put it in quotes: \"\(number)\"")
      } else {
        ConfigurationProblem(path: path(context.codingPath), message: "is not a text")
      }
    case .keyNotFound(let key, let context):
      ConfigurationProblem(path: path(context.codingPath + [key]), message: "is missing")
    case .typeMismatch(let type, let context):
      ConfigurationProblem(path: path(context.codingPath), message: "is not a \(type)")
    case .valueNotFound(let type, let context):
      ConfigurationProblem(path: path(context.codingPath), message: "is empty, not a \(type)")
    case .dataCorrupted(let context):
      ConfigurationProblem(path: path(context.codingPath), message: context.debugDescription)
    @unknown default: ConfigurationProblem(path: "", message: "\(self)")
    }
  }
}
