internal import FoundationEssentials
internal import RelayWire

/// Finds out that another program answers with the same bot where this one does.
///
/// Machines may share a token while each keeps to places of its own. What is sent bears this installation's mark in its nonce,
/// which Discord tells with the message to everybody who listens with the token.
struct SharedToken: Sendable {
  private static let markLength = 5
  /// Discord takes 25 characters.
  ///
  /// https://discord.com/developers/docs/resources/message#create-message
  private static let keyLength = 25 - markLength - 2

  private let mark: String

  /// - Parameter folder: the plugin's own, which no other installation on this machine has.
  init(folder: String) {
    let machine = FileManager.default.contents(atPath: "/etc/machine-id") ?? Data()
    let host = FileManager.default.contents(atPath: "/proc/sys/kernel/hostname") ?? Data()
    // FNV-1a.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in Array(machine) + Array(host) + Array(folder.utf8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    let digits = String(repeating: "0", count: Self.markLength) + String(hash, radix: 36)
    mark = String(digits.suffix(Self.markLength))
  }

  /// The same for the same key.
  func nonce(of key: String) -> String { "r\(mark).\(key.filter { $0 != "-" }.suffix(Self.keyLength))" }

  /// Whether a message is one that another installation of this program has sent.
  func isAnothers(_ data: JSONValue, me: String?) -> Bool {
    guard let me, data["author"]?["id"]?.stringValue == me, let nonce = data["nonce"]?.stringValue else { return false }
    let isMarked = nonce.first == "r" && nonce.dropFirst(Self.markLength + 1).first == "."
    return isMarked && nonce.dropFirst().prefix(Self.markLength) != mark
  }
}
