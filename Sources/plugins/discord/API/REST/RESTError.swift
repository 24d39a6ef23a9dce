package import MessengerKit
package import PluginSDK

extension RESTError {
  package var asDeliveryFailure: DeliveryFailure { deliveryFailure(at: "Discord", explain: Self.explained) }

  /// The failure in words.
  package var words: String { asDeliveryFailure.wireError.message }

  /// The meaning of a refusal for the person who reads it.
  ///
  /// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json-json-error-codes
  private static func explained(_ code: String) -> DeliveryFailure? {
    let words =
      switch code {
      case "50001": "the bot may not see this channel (50001); pi-relayd doctor says which permissions are missing"
      case "50007":
        "Discord does not let the bot write to this person (50007): they share no server with it, have switched direct "
          + "messages of its members off, or have blocked it"
      case "50013": "the bot lacks a permission here (50013); pi-relayd doctor says which"
      default: nil as String?
      }
    return words.map { .forbidden($0) }
  }
}
