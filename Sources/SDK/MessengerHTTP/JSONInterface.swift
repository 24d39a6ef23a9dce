public import MessengerKit
public import PluginSDK
public import RelayHTTP

/// A service's HTTP interface that answers with JSON.
public struct JSONInterface: Sendable {
  /// Without a slash at its end: paths begin with one.
  public let base: String
  private let headers: [(name: String, value: String)]
  private let proxies: ProxyRules
  private let engine: CurlEngine

  /// - Parameters:
  ///   - headers: of every request.
  ///   - proxy: the setting, which goes before the environment's.
  public init(
    base: String, headers: [(name: String, value: String)] = [], proxy: String?, engine: CurlEngine = .shared
  ) {
    self.base = base
    self.headers = headers
    self.engine = engine
    proxies = ProxyRules(setting: proxy)
  }

  /// The proxy through which an address of the service is reached; by default the interface itself.
  public func proxy(for url: String? = nil) -> Proxy? { proxies.proxy(for: url ?? base) }

  /// Only a service on this machine is asked without TLS.
  public var allowsPlain: Bool { Self.isLocal(base) }

  /// Reports that an address is one of plain http on this machine.
  public static func isLocal(_ address: String) -> Bool {
    ["127.0.0.1", "localhost", "[::1]"].contains { host in
      let start = "http://" + host
      return address == start || address.hasPrefix(start + ":") || address.hasPrefix(start + "/")
    }
  }

  /// Sends a request once.
  ///
  /// - Parameters:
  ///   - path: the path behind the base; a secret in it appears in no error.
  ///   - limit: the time for the whole request.
  /// - Returns: the answer with any status, and its JSON; `null` for an answer that is not JSON, as from a proxy.
  /// - Throws: `unreachable` where the service has not seen the request, `unanswered` where it may have.
  public func ask(
    _ method: String, _ path: String, headers more: [(name: String, value: String)] = [],
    _ body: HTTPRequest.Body = .none, within limit: Duration
  ) async throws(RESTError) -> (response: HTTPResponse, words: JSONValue) {
    var request = HTTPRequest(method, base + path, headers: headers + more, body: body)
    request.allowsPlainHTTP = allowsPlain
    request.timeoutSeconds = max(1, Int(limit.components.seconds))
    request.proxy = proxy(for: request.url)?.url
    let response: HTTPResponse
    do {
      response = try await engine.send(request)
    } catch {
      switch error {
      case .notSent(let why): throw .unreachable(why)
      default: throw .unanswered("\(error)")
      }
    }
    // The status decides: a proxy's page of an error is no JSON, and has no words for the caller.
    return (response, (try? JSONCoding.decode(JSONValue.self, from: response.body)) ?? .null)
  }
}
