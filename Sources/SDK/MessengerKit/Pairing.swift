public import PluginSDK
internal import RelayConcurrency
internal import RelayTransport

/// Finds out who sets the messenger up: the person who reads a code in the set-up writes it to the bot in a direct message.
public struct Pairing: Sendable {
  /// Eight letters and digits that are not mistaken for each other.
  public let code = String((0..<8).map { _ in "abcdefghjkmnpqrstuvwxyz23456789".randomElement() ?? "x" })
  private let dialogue: SetupDialogue
  private let link: (@Sendable (String) -> String)?
  /// For the code to arrive.
  private let limit: Duration
  private let shown = SetOnce<Void>()
  private let found = SetOnce<Sender>()

  private struct Paired: Error {}

  /// - Parameters:
  ///   - known: the settings that were given with the command. `pairingSeconds` sets the time for the code to arrive, for tests; ten
  ///     minutes otherwise.
  ///   - link: makes an address of the code that opens the chat with the bot and writes the code there, where the service has such.
  public init(
    _ dialogue: SetupDialogue, known: JSONValue, link: (@Sendable (_ code: String) -> String)? = nil
  ) {
    self.dialogue = dialogue
    self.link = link
    limit = .seconds(known["pairingSeconds"]?.stringValue.flatMap { Int($0) } ?? 600)
  }

  /// Shows the code, once the bot hears direct messages. Later calls do nothing.
  ///
  /// - Throws: an error when the person has left the set-up.
  public func isListening() async throws {
    guard shown.value == nil else { return }
    shown.set(())
    if let link {
      // The place to show the address in another form, too.
      try await dialogue.say("Open this within ten minutes, and press Start there: \(link(code))")
      try await dialogue.say("Or write this to the bot in a direct message: \(code)")
    } else {
      try await dialogue.say("Write this to the bot in a direct message, within ten minutes: \(code)")
    }
  }

  /// Takes a direct message to the bot.
  ///
  /// - Throws: an error when the text is the code; `listen` passes it on, which ends `run`.
  public func heard(_ text: String, from sender: Sender) throws {
    guard text.filter({ !$0.isWhitespace }).lowercased() == code else { return }
    found.set(sender)
    throw Paired()
  }

  /// Waits for the code.
  ///
  /// - Parameters:
  ///   - obstacle: the reason why the bot does not hear, asked for when the time is over.
  ///   - listen: connects, and calls `isListening` and `heard`.
  /// - Returns: the person who wrote the code.
  /// - Throws: `WireError` with words for the person: nobody wrote the code in time, or the bot was not connected.
  public func run(
    obstacle: @Sendable () async -> String? = { nil }, _ listen: @escaping @Sendable () async throws -> Void
  ) async throws -> Sender {
    do {
      try await withDeadline(limit, clock: LoopClock.shared, listen)
    } catch {
      if let sender = found.value {
        try await dialogue.say("That was \(sender.name) (\(sender.id)), who may now talk to the agent.")
        return sender
      }
      if let refusal = error as? WireError { throw refusal }
      guard shown.value == nil else {
        throw WireError(
          .internalError,
          "nobody wrote the code to the bot within \(limit.forPeople); start the set-up again")
      }
      let why = await obstacle() ?? "the service did not answer"
      throw WireError(
        .internalError,
        "the code could not be shown, because the bot was not connected within \(limit.forPeople): \(why)"
      )
    }
    throw WireError(.internalError, "the connection ended")
  }
}
