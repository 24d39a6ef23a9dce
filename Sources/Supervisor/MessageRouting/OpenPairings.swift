internal import ConversationSessions
internal import Pairings
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayModel
internal import RelayText
internal import RelayWire

/// A person who has sent the right code.
struct PairingClaimant: Sendable {
  let message: MessageReceived
  let link: PluginConnection
  /// The messenger itself shows its answer.
  let isNative: Bool
  /// Of this claim, for its time limit.
  let number: Int

  var key: ConversationKey { link.key(message.conversation) }
  var name: String { TextSanitizer.name(message.sender.name) }
}

/// The pairings whose codes are open, and the terminals that follow them.
struct OpenPairings {
  /// A pairing as its terminal follows it.
  struct Followed {
    let request: PairingCodes.Request
    let steps = Mailbox<PairingStep>()
    var claimant: PairingClaimant?
    /// A request waits for the next step.
    var isAwaited = false
  }

  var codes = PairingCodes()
  var followed: [String: Followed] = [:]
  private var claims = 0
  /// The time at which a refused code was logged last.
  private var logged: Duration?

  /// Opens a code that no other open pairing has.
  ///
  /// - Returns: `nil` where too many are open.
  mutating func open(
    _ request: PairingCodes.Request, until expires: Duration, now: Duration
  ) -> (code: PairingCode, replaced: String?)? {
    var generator = SystemRandomNumberGenerator()
    var code = PairingCode(using: &generator)
    while codes.isTaken(code) { code = PairingCode(using: &generator) }
    let (replaced, isFull) = codes.open(request, code, until: expires, now: now)
    guard !isFull else { return nil }
    followed[request.id] = Followed(request: request)
    return (code, replaced)
  }

  mutating func claimNumber() -> Int {
    claims += 1
    return claims
  }

  /// Reports whether a refused code is to be logged: at most once in a second, because wrong codes are cheap to send.
  mutating func logsRefusal(now: Duration) -> Bool {
    if let logged, now - logged < .seconds(1) { return false }
    logged = now
    return true
  }
}
