internal import MessengerKit
internal import RelayJSON

/// Finds out whether another program answers with the same bot in the same places.
///
/// Machines may share a token while each keeps to places of its own. Each message bears this installation's mark in its
/// nonce, which Discord passes on to every program that listens with the token.
struct SharedToken: Sendable {
  /// Discord takes 25 characters.
  ///
  /// https://discord.com/developers/docs/resources/message#create-message
  private static let keyLength = 25 - InstallationMark.length - 2

  private let mark: String

  /// - Parameter folder: the plugin's own, which no other installation on this machine has.
  init(folder: String) { mark = InstallationMark(folder: folder).description }

  /// The same for the same key.
  func nonce(of key: String) -> String { "r\(mark).\(key.filter { $0 != "-" }.suffix(Self.keyLength))" }

  /// Reports whether another installation of this program has sent a message.
  func isAnothers(_ data: JSONValue, me: String?) -> Bool {
    guard let me, data["author"]?["id"]?.stringValue == me, let nonce = data["nonce"]?.stringValue else { return false }
    let isMarked = nonce.first == "r" && nonce.dropFirst(mark.count + 1).first == "."
    return isMarked && nonce.dropFirst().prefix(mark.count) != mark
  }
}
