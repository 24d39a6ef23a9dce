internal import MessengerKit
internal import RelayHTTP

/// The action to take after a connection to the gateway has ended.
///
/// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
enum GatewayEnding: Equatable {
  /// Connect again and resume the session.
  case resume
  /// Connect again and begin a session.
  case identify
  /// The same, but Discord wants to be left alone for a moment before.
  case identifyLater
  /// Never connect again with this configuration: words for the person.
  case fatal(String)

  init(closedWith code: Int?) {
    switch code {
    case 4004: self = .fatal("Discord refuses the token; copy it again from the developer portal: Bot, Reset Token")
    case 4010, 4011:
      self = .fatal("Discord wants this bot to be sharded, which pi-relay does not do: it is in too many servers")
    case 4012:
      self = .fatal("Discord no longer speaks the version of the gateway that this pi-relay knows; install a newer one")
    case 4013: self = .fatal("Discord does not know an intent that this pi-relay asks for; install a newer one")
    case 4014:
      self = .fatal(
        "Discord does not grant the Message Content intent; switch it on in the developer portal: Bot, Privileged "
          + "Gateway Intents, Message Content Intent")
    // An invalid sequence, a session that timed out; 1000 and 1001 end it, too.
    case 4007, 4009, 1000, 1001: self = .identify
    default: self = .resume
    }
  }

  /// The ending as any messenger knows it. Discord ends good connections all the time, which is worth telling only where none
  /// becomes of use any more.
  ///
  /// - Parameter random: 0…1, for the pause before the next session.
  ///   https://discord.com/developers/docs/events/gateway#resuming
  func connectionEnding(random: Double) -> ConnectionEnding {
    let words = "Discord ends every connection to its gateway at once"
    return switch self {
    case .resume, .identify: ConnectionEnding(words, grace: .seconds(60))
    case .identifyLater: ConnectionEnding(words, grace: .seconds(60), minimumPause: .seconds(1 + 4 * random))
    case .fatal(let words): ConnectionEnding(words, isRefusal: true)
    }
  }
}
