import CCurl
import Glibc

/// Which network addresses may be connected to. Judged at the moment of connecting, so that neither a redirect nor a
/// name that changes its mind gets around it.
public struct AddressPolicy: Sendable, Equatable {
  /// Also addresses of this machine and of private networks.
  public var allowsPrivate: Bool

  public init(allowsPrivate: Bool = false) {
    self.allowsPrivate = allowsPrivate
  }

  func allows(_ address: UnsafePointer<sockaddr>) -> Bool {
    if allowsPrivate { return true }
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        Self.isPublic(v4: UInt32(bigEndian: $0.pointee.sin_addr.s_addr))
      }
    case AF_INET6:
      return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
        withUnsafeBytes(of: $0.pointee.sin6_addr) { Self.isPublic(v6: Array($0)) }
      }
    default: return false
    }
  }

  /// RFC 6890: addresses that are not global.
  static func isPublic(v4 address: UInt32) -> Bool {
    let blocks: [(UInt32, Int)] = [
      (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16), (0xAC10_0000, 12),
      (0xC000_0000, 24), (0xC000_0200, 24), (0xC0A8_0000, 16), (0xC612_0000, 15), (0xC633_6400, 24),
      (0xCB00_7100, 24), (0xE000_0000, 4), (0xF000_0000, 4),
    ]
    return !blocks.contains { address >> (32 - $0.1) == $0.0 >> (32 - $0.1) }
  }

  static func isPublic(v6 address: [UInt8]) -> Bool {
    func v4(_ start: Int) -> UInt32 { address[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    // IPv4 in IPv6: mapped, and the NAT64 prefix 64:ff9b::/96.
    if address[..<10].allSatisfy({ $0 == 0 }), address[10] == 0xFF, address[11] == 0xFF { return isPublic(v4: v4(12)) }
    if address[..<12].elementsEqual([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return isPublic(v4: v4(12)) }
    // 6to4 carries an IPv4 address too.
    if address[0] == 0x20, address[1] == 0x02 { return isPublic(v4: v4(2)) }
    // Only 2000::/3 is global unicast, without Teredo and the documentation prefix.
    guard address[0] & 0xE0 == 0x20 else { return false }
    return !address.starts(with: [0x20, 0x01, 0, 0]) && !address.starts(with: [0x20, 0x01, 0x0D, 0xB8])
  }
}
