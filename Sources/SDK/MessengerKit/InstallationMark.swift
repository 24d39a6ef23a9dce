internal import FoundationEssentials

/// A mark of this installation of the program, for what it sends. Where a service hands such a mark back with a message, two
/// installations that use one account notice each other.
public struct InstallationMark: Sendable, Equatable, CustomStringConvertible {
  /// The length of a mark, in characters: a–z and 0–9.
  public static let length = 5

  /// The mark: the same in every process of the installation.
  public let description: String

  /// - Parameter folder: the plugin's data folder (`about.dataDir`), which no other installation on this machine has.
  public init(folder: String) {
    let machine = FileManager.default.contents(atPath: "/etc/machine-id") ?? Data()
    let host = FileManager.default.contents(atPath: "/proc/sys/kernel/hostname") ?? Data()
    // FNV-1a.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in Array(machine) + Array(host) + Array(folder.utf8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    let digits = String(repeating: "0", count: Self.length) + String(hash, radix: 36)
    description = String(digits.suffix(Self.length))
  }
}
