/// The part of the daemon's environment that children inherit.
package enum ChildEnvironment {
  /// Names a plugin inherits; everything else, secrets above all, stays with us.
  private static let allowed: Set<String> = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
    "LD_LIBRARY_PATH",
  ]

  package static func plugin(from environment: [String: String], markers: [String]) -> [String: String] {
    var result = environment.filter { allowed.contains($0.key) || $0.key.hasPrefix("LC_") }
    result["PI_RELAY_PLUGIN"] = "1"
    for marker in markers { add(marker, to: &result) }
    return result
  }

  /// pi gets everything, since models' keys are there, except what the configuration names as messengers' secrets.
  package static func agent(
    from environment: [String: String], secrets: Set<String>, additions: [String: String], markers: [String]
  ) -> [String: String] {
    var result = environment.filter { !secrets.contains($0.key) && !$0.key.hasPrefix("PI_RELAY_") }
    result.merge(additions) { _, addition in addition }
    for marker in markers { add(marker, to: &result) }
    return result
  }

  private static func add(_ marker: String, to environment: inout [String: String]) {
    let parts = marker.split(separator: "=", maxSplits: 1).map(String.init)
    if parts.count == 2 { environment[parts[0]] = parts[1] }
  }
}
