import CCurl
import Glibc
internal import RelayConcurrency
internal import RelayTransport

/// A connection that libcurl has made, with its TLS and proxies, for a protocol that libcurl does not speak.
///
/// `@unchecked`: after it is made, its owner uses it from one thread.
final class CurlTunnel: @unchecked Sendable {
  enum Transferred: Equatable {
    case bytes(Int)
    case notNow
    case ended
  }

  /// Where a tunnel leads, and how.
  struct Target: Sendable {
    /// `http` or `https`.
    var url: String
    var proxy: String?
    var timeoutSeconds: Int
    var allowsPlain: Bool
    /// A file of certificates to trust instead of the system's.
    var trust: String?
    /// False switches off ALPN, which announces HTTP to the server.
    var isHTTP = true
  }

  private let handle: UnsafeMutableRawPointer
  /// For knowing when something can be read or written; libcurl closes it.
  let descriptor: Int32

  private init(_ handle: UnsafeMutableRawPointer, _ descriptor: Int32) {
    self.handle = handle
    self.descriptor = descriptor
  }

  deinit { curl_easy_cleanup(handle) }

  /// Connects, on a thread of its own: name resolution and TLS wait.
  static func open(_ target: Target) async throws(WebSocketError) -> CurlTunnel {
    let isCancelled = Locked(false)
    let result: Result<CurlTunnel, WebSocketError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        LoopThread.start(name: "relay-connect") {
          continuation.resume(returning: connect(target, isCancelled))
        }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
    return try result.get()
  }

  private static func connect(
    _ target: Target, _ isCancelled: Locked<Bool>
  ) -> Result<CurlTunnel, WebSocketError> {
    curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    guard let handle = curl_easy_init() else { return .failure(.unreachable("libcurl has no memory")) }
    relay_curl_set_string(handle, CURLOPT_URL, target.url)
    relay_curl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    relay_curl_set_long(handle, CURLOPT_CONNECT_ONLY, 1)
    relay_curl_set_string(handle, CURLOPT_PROTOCOLS_STR, target.allowsPlain ? "http,https" : "https")
    relay_curl_set_long(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    relay_curl_set_long(handle, CURLOPT_CONNECTTIMEOUT, target.timeoutSeconds)
    relay_curl_set_long(handle, CURLOPT_TCP_KEEPALIVE, 1)
    Proxy.set(target.proxy, on: handle)
    relay_curl_set_long(handle, CURLOPT_HTTPPROXYTUNNEL, 1)
    relay_curl_set_trust(handle)
    if let trust = target.trust { relay_curl_set_string(handle, CURLOPT_CAINFO, trust) }
    if !target.isHTTP { relay_curl_set_long(handle, CURLOPT_SSL_ENABLE_ALPN, 0) }
    relay_curl_set_long(handle, CURLOPT_NOPROGRESS, 0)
    relay_curl_set_pointer(handle, CURLOPT_XFERINFODATA, Unmanaged.passUnretained(isCancelled).toOpaque())
    relay_curl_set_progress(handle) { user, _, _, _, _ in
      guard let user else { return 0 }
      return Unmanaged<Locked<Bool>>.fromOpaque(user).takeUnretainedValue().withLock { $0 } ? 1 : 0
    }
    let code = curl_easy_perform(handle)
    var socket: curl_socket_t = -1
    guard code == CURLE_OK, relay_curl_get_socket(handle, &socket) == CURLE_OK, socket >= 0 else {
      curl_easy_cleanup(handle)
      switch code {
      case CURLE_ABORTED_BY_CALLBACK: return .failure(.cancelled)
      case CURLE_OPERATION_TIMEDOUT: return .failure(.timedOut(seconds: target.timeoutSeconds))
      default: return .failure(.unreachable(String(cString: curl_easy_strerror(code))))
      }
    }
    // Nobody asks it any more, and what it looks at is gone.
    relay_curl_set_long(handle, CURLOPT_NOPROGRESS, 1)
    return .success(CurlTunnel(handle, socket))
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Transferred {
    var count = 0
    switch curl_easy_recv(handle, buffer.baseAddress, buffer.count, &count) {
    case CURLE_OK: return count > 0 ? .bytes(count) : .ended
    case CURLE_AGAIN: return .notNow
    default: return .ended
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Transferred {
    var count = 0
    switch curl_easy_send(handle, bytes.baseAddress, bytes.count, &count) {
    case CURLE_OK: return .bytes(count)
    case CURLE_AGAIN: return .notNow
    default: return .ended
    }
  }
}
