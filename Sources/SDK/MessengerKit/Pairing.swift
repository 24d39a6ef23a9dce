public import PluginSDK
internal import RelayConcurrency
internal import RelayTransport

/// Finds out the id of the person who sets the messenger up. The set-up shows a code; the person who sends it to the
/// bot in a direct message is the person at the terminal.
public struct Pairing: Sendable {
  /// Eight letters and digits that are not mistaken for each other.
  public let code = String((0..<8).map { _ in "abcdefghjkmnpqrstuvwxyz23456789".randomElement() ?? "x" })
  private let dialogue: SetupDialogue
  /// For the code to arrive.
  private let limit: Duration
  private let shown = SetOnce<Void>()
  private let found = SetOnce<Sender>()

  private struct Paired: Error {}

  /// - Parameter known: the settings of the command; tests shorten the wait for the code with `pairingSeconds`.
  public init(_ dialogue: SetupDialogue, known: JSONValue) {
    self.dialogue = dialogue
    limit = .seconds(known["pairingSeconds"]?.stringValue.flatMap { Int($0) } ?? 600)
  }

  /// The bot hears direct messages now: the code is shown, and not before it would be heard.
  public func isListening() async throws {
    guard shown.value == nil else { return }
    shown.set(())
    try await dialogue.say("Write this to the bot in a direct message, within ten minutes: \(code)")
  }

  /// Somebody wrote a direct message.
  ///
  /// - Throws: when it is the code, which is to end `listen`.
  public func heard(_ text: String, from sender: Sender) throws {
    guard text.filter({ !$0.isWhitespace }).lowercased() == code else { return }
    found.set(sender)
    throw Paired()
  }

  /// Waits for the code.
  ///
  /// - Parameters:
  ///   - obstacle: the reason why the bot cannot hear, if there is one.
  ///   - listen: connects, and calls `isListening` and `heard`.
  /// - Throws: `WireError`, which the person reads.
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
