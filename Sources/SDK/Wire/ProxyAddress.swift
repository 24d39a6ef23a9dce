/// The address of a proxy, as a setting or an environment variable holds it.
package enum ProxyAddress {
  private static let schemes = ["http", "https", "socks4", "socks5", "socks5h"]

  /// The environment variables that name a proxy, by the scheme they hold for; the first of each that is not empty counts.
  package static let variables = ["http", "https", "all"].map { scheme in
    (scheme: scheme, names: ["\(scheme)_proxy", "\(scheme)_proxy".uppercased()])
  }

  /// The reason why no proxy can be reached at this address, without the password that may stand in it; `nil` where it is
  /// well formed. Empty: no proxy. An address without a scheme is one of http.
  package static func problem(with address: String) -> String? {
    guard !address.isEmpty else { return nil }
    if address.unicodeScalars.contains(where: {
      $0.properties.isWhitespace || $0.properties.generalCategory == .control
    }) {
      return "there are blanks or control characters in it"
    }
    let separator = address.firstRange(of: "://")
    if let separator {
      let scheme = address[..<separator.lowerBound].lowercased()
      guard schemes.contains(scheme) else {
        return "the scheme \(scheme) is not supported; use \(schemes.dropLast().joined(separator: ", ")) or "
          + schemes[schemes.count - 1]
      }
    }
    let authority = address[(separator?.upperBound ?? address.startIndex)...].prefix { !"/?#".contains($0) }
    let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    // Colons between brackets are those of an IPv6 address.
    let name = place.hasPrefix("[") ? place.prefix { $0 != "]" } : place.prefix { $0 != ":" }
    let rest = place[name.endIndex...].drop { $0 == "]" }
    guard name.contains(where: { $0 != "[" }) else {
      return "there is no host in it; write it like http://proxy.example:3128"
    }
    if rest.isEmpty { return nil }
    guard rest.first == ":", let port = Int(rest.dropFirst()), (1...65_535).contains(port) else {
      return "the port is not a number from 1 to 65535"
    }
    return nil
  }
}
