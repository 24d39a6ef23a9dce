import CCurl
import Glibc
internal import RelayWire

/// A proxy, and what named it.
public struct Proxy: Sendable, Equatable, CustomStringConvertible {
  /// http, https, socks4, socks5 or socks5h, with what it wants for a name and a password.
  public var url: String
  /// The setting, or the environment variable.
  public var source: String

  /// For people to read: without the password.
  public var description: String {
    let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
    let end = url[start...].firstIndex { "/?#".contains($0) } ?? url.endIndex
    guard let at = url[start..<end].lastIndex(of: "@"), let colon = url[start..<at].firstIndex(of: ":") else {
      return "\(url) (\(source))"
    }
    return "\(url[..<colon])\(url[at...]) (\(source))"
  }

  /// libcurl's own look at the environment is switched off: nobody here would know what it decides.
  static func set(_ url: String?, on handle: UnsafeMutableRawPointer) {
    relay_curl_set_string(handle, CURLOPT_PROXY, url ?? "")
    relay_curl_set_string(handle, CURLOPT_NOPROXY, "")
  }
}

/// The one place that decides through which proxy an address is reached: a setting, or else `HTTPS_PROXY`, `HTTP_PROXY`,
/// `ALL_PROXY` and `NO_PROXY`, in lower case first.
public struct ProxyRules: Sendable, Equatable {
  private let setting: String?
  private var variables: [String: Proxy] = [:]
  private var exempt = ""

  /// - Parameters:
  ///   - setting: goes before the environment; empty: no proxy.
  ///   - variable: an environment variable's value; by default of this process.
  public init(setting: String?, variable: ((String) -> String?)? = nil) {
    let environment = variable ?? { name in getenv(name).map { String(cString: $0) } }
    self.setting = setting
    for (scheme, names) in ProxyAddress.variables {
      let proxies = names.lazy.compactMap { variable in
        environment(variable).flatMap { $0.isEmpty ? nil : Proxy(url: $0, source: variable) }
      }
      variables[scheme] = proxies.first
    }
    exempt = environment("no_proxy") ?? environment("NO_PROXY") ?? ""
  }

  /// - Parameter url: of `http`, `https`, `ws` or `wss`.
  public func proxy(for url: String) -> Proxy? {
    if let setting { return setting.isEmpty ? nil : Proxy(url: setting, source: "the setting proxy") }
    guard let separator = url.firstRange(of: "://") else { return nil }
    let isSecure = ["https", "wss"].contains(url[..<separator.lowerBound].lowercased())
    guard let proxy = variables[isSecure ? "https" : "http"] ?? variables["all"] else { return nil }
    let authority = url[separator.upperBound...].prefix { !"/?#".contains($0) }
    let host = Host(authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority)
    let isExempt = exempt.split { $0 == "," || $0.isWhitespace }
      .contains { host.matches($0, port: isSecure ? 443 : 80) }
    return isExempt ? nil : proxy
  }

  /// A server's name or address, with the port where one is written.
  private struct Host {
    let name: Substring
    let port: Int?

    init(_ text: Substring) {
      // An IPv6 address without brackets has no port.
      let colon = text.lastIndex(of: ":").flatMap { colon in
        text[..<colon].contains(":") && !text[..<colon].hasSuffix("]") ? nil : colon
      }
      port = colon.flatMap { Int(text[text.index(after: $0)...]) }
      let host = port == nil ? text : text[..<(colon ?? text.endIndex)]
      let bare = host.hasPrefix("[") && host.hasSuffix("]") ? host.dropFirst().dropLast() : host
      name = bare.hasSuffix(".") ? bare.dropLast() : bare
    }

    /// - Parameter entry: of NO_PROXY: `*`, a domain, an address, a network; a port may follow.
    func matches(_ entry: Substring, port usual: Int) -> Bool {
      if entry == "*" { return true }
      let network = entry.split(separator: "/", omittingEmptySubsequences: false)
      let other = Host(network[0])
      if let wanted = other.port, wanted != port ?? usual { return false }
      if let own = Self.bytes(of: name) {
        guard let theirs = Self.bytes(of: other.name), own.count == theirs.count else { return false }
        guard network.count > 1 else { return own == theirs }
        guard let bits = Int(network[1]), (0...own.count * 8).contains(bits) else { return false }
        return (0..<bits).allSatisfy { (own[$0 / 8] ^ theirs[$0 / 8]) & (0x80 >> UInt8($0 % 8)) == 0 }
      }
      let domain = other.name.drop { $0 == "*" || $0 == "." }.lowercased()
      let host = name.lowercased()
      return !domain.isEmpty && (host == domain || host.hasSuffix("." + domain))
    }

    private static func bytes(of address: Substring) -> [UInt8]? {
      var v4 = in_addr()
      if inet_pton(AF_INET, String(address), &v4) == 1 { return withUnsafeBytes(of: v4) { Array($0) } }
      var v6 = in6_addr()
      return inet_pton(AF_INET6, String(address), &v6) == 1 ? withUnsafeBytes(of: v6) { Array($0) } : nil
    }
  }
}
