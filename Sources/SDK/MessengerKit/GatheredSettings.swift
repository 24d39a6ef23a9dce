public import PluginSDK

/// The settings and secrets that a set-up gathers. A person is not asked for what was given with the command.
public struct GatheredSettings: Sendable {
  private let dialogue: SetupDialogue
  private let known: JSONValue
  /// The answers so far, by the setting's name; an empty answer is left out.
  public var settings: [String: JSONValue] = [:]
  /// The secrets so far, by the setting's name.
  public private(set) var secrets: [String: String] = [:]

  /// - Parameter known: the settings that were given with the command, each as a text.
  public init(_ dialogue: SetupDialogue, known: JSONValue) {
    self.dialogue = dialogue
    self.known = known
  }

  /// Takes over a setting that is given with the command or not at all.
  ///
  /// - Parameter read: makes the setting's value of the text; `nil` for none.
  public mutating func take(_ name: String, _ read: (String) -> JSONValue? = { .string($0) }) {
    settings[name] = known[name]?.stringValue.flatMap(read)
  }

  /// Asks for a setting that is a text.
  ///
  /// - Throws: an error when the person has left the set-up.
  public mutating func ask(_ name: String, _ question: String) async throws {
    let answer = try await dialogue.answer(name, question, known: known)
    settings[name] = answer.isEmpty ? nil : .string(answer)
  }

  /// Asks for a secret, which the host keeps in a file of its own.
  ///
  /// - Throws: an error when the person has left the set-up.
  public mutating func askSecret(_ name: String, _ question: String) async throws {
    secrets[name] = try await dialogue.ask(name, question, secret: true)
  }

  /// Asks for a list with commas between its items.
  ///
  /// - Throws: an error when the person has left the set-up.
  public func list(_ name: String, _ question: String) async throws -> [String] {
    SetupDialogue.list(try await dialogue.answer(name, question, known: known))
  }

  /// The configuration that the answers make, secrets included, for trying it.
  public var config: JSONValue { .object(settings.merging(secrets.mapValues { .string($0) }) { $1 }) }

  /// The end of the set-up.
  ///
  /// - Parameter users: the ids of the people who may talk to the agent.
  public func reply(users: [String]) -> SetupReply { SetupReply(settings: settings, secrets: secrets, users: users) }
}
