public import PluginSDK

/// The settings and secrets that a set-up gathers. An answer that was given with the command is taken before the person is asked.
public struct GatheredSettings: Sendable {
  private let dialogue: SetupDialogue
  private let known: JSONValue
  /// Every answer so far, under the setting's name; an empty one is none.
  public var settings: [String: JSONValue] = [:]
  /// Every secret so far, under the setting's name.
  public private(set) var secrets: [String: String] = [:]

  /// - Parameter known: the settings of the command, which gives every value as text.
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
  public mutating func ask(_ name: String, _ question: String) async throws {
    let answer = try await dialogue.answer(name, question, known: known)
    settings[name] = answer.isEmpty ? nil : .string(answer)
  }

  /// Asks for a secret, which the host keeps in a file of its own.
  public mutating func askSecret(_ name: String, _ question: String) async throws {
    secrets[name] = try await dialogue.ask(name, question, secret: true)
  }

  /// Asks for a list with commas between.
  public func list(_ name: String, _ question: String) async throws -> [String] {
    SetupDialogue.list(try await dialogue.answer(name, question, known: known))
  }

  /// The configuration that the answers make, secrets included: to try it.
  public var config: JSONValue { .object(settings.merging(secrets.mapValues { .string($0) }) { $1 }) }

  /// The end of the set-up.
  public func reply(users: [String]) -> SetupReply { SetupReply(settings: settings, secrets: secrets, users: users) }
}
