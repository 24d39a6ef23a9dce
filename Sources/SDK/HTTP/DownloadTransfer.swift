import CCurl
import Glibc
import RelayConcurrency

/// The easy handle of one transfer, and the state of its callbacks.
///
/// `@unchecked`: after it is handed over, only the engine's thread touches it.
final class DownloadTransfer: CurlTransfer, @unchecked Sendable {
  private let download: Download
  private let done: @Sendable (Result<Void, DownloadError>) -> Void
  private var handle: UnsafeMutableRawPointer?
  private var list: UnsafeMutablePointer<curl_slist>?
  private var descriptor: Int32 = -1
  private var written = 0
  private var problem: DownloadError?
  private let gate = UnsafeMutablePointer<relay_curl_gate>.allocate(capacity: 1)

  init(_ download: Download, done: @escaping @Sendable (Result<Void, DownloadError>) -> Void) {
    self.download = download
    self.done = done
  }

  deinit { gate.deallocate() }

  func prepare() -> UnsafeMutableRawPointer? {
    do throws(DownloadError) { return try makeHandle() } catch {
      end(.failure(error))
      return nil
    }
  }

  func finish(_ code: CURLcode) { end(outcome(code)) }

  func cancel() { end(.failure(.cancelled)) }

  private func makeHandle() throws(DownloadError) -> UnsafeMutableRawPointer {
    descriptor = open(download.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .cannotWrite(SystemError.reason()) }
    guard let handle = curl_easy_init() else { throw .failed("libcurl has no memory") }
    self.handle = handle
    let user = Unmanaged.passUnretained(self).toOpaque()
    relay_curl_set_string(handle, CURLOPT_URL, download.url)
    relay_curl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    relay_curl_set_trust(handle)
    relay_curl_set_string(handle, CURLOPT_PROTOCOLS_STR, download.allowsPlainHTTP ? "http,https" : "https")
    relay_curl_set_string(handle, CURLOPT_REDIR_PROTOCOLS_STR, download.allowsPlainHTTP ? "http,https" : "https")
    relay_curl_set_long(handle, CURLOPT_TIMEOUT, download.timeoutSeconds)
    relay_curl_set_long(handle, CURLOPT_CONNECTTIMEOUT, min(10, download.timeoutSeconds))
    relay_curl_set_long(handle, CURLOPT_FOLLOWLOCATION, download.proxy == nil ? 1 : 0)
    relay_curl_set_long(handle, CURLOPT_MAXREDIRS, download.maximumRedirects)
    relay_curl_set_string(handle, CURLOPT_ACCEPT_ENCODING, "")
    relay_curl_set_string(handle, CURLOPT_USERAGENT, "pi-relay")
    for (name, value) in download.headers { list = curl_slist_append(list, "\(name): \(value)") }
    if list != nil { relay_curl_set_pointer(handle, CURLOPT_HTTPHEADER, list) }
    Proxy.set(download.proxy, on: handle)
    relay_curl_set_pointer(handle, CURLOPT_WRITEDATA, user)
    relay_curl_set_write(handle) { bytes, size, count, user in
      guard let bytes, let user else { return 0 }
      return Unmanaged<DownloadTransfer>.fromOpaque(user).takeUnretainedValue().take(bytes, size * count)
    }
    // Behind a proxy the connection goes to the proxy; a setting lists the allowed hosts instead.
    if download.proxy == nil {
      gate.initialize(
        to: relay_curl_gate(
          judge: { address, user in
            guard let address, let user else { return 0 }
            return Unmanaged<DownloadTransfer>.fromOpaque(user).takeUnretainedValue().judge(address) ? 1 : 0
          }, user: user))
      relay_curl_set_gate(handle, gate)
    }
    return handle
  }

  private func judge(_ address: UnsafePointer<sockaddr>) -> Bool {
    if download.addresses.allows(address) { return true }
    problem = .addressRefused
    return false
  }

  private func take(_ bytes: UnsafeMutablePointer<CChar>, _ count: Int) -> Int {
    guard written + count <= download.maximumBytes else {
      problem = .tooLarge(limit: download.maximumBytes)
      return 0
    }
    var done = 0
    while done < count {
      let result = write(descriptor, bytes + done, count - done)
      if result < 0 {
        if errno == EINTR { continue }
        problem = .cannotWrite(SystemError.reason())
        return 0
      }
      done += result
    }
    written += count
    return count
  }

  private func outcome(_ code: CURLcode) -> Result<Void, DownloadError> {
    if let problem { return .failure(problem) }
    switch code {
    case CURLE_OK:
      var status = 0
      relay_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
      return (200..<300).contains(status) ? .success(()) : .failure(.status(status))
    case CURLE_OPERATION_TIMEDOUT: return .failure(.timedOut(seconds: download.timeoutSeconds))
    case CURLE_UNSUPPORTED_PROTOCOL: return .failure(.schemeRefused)
    default: return .failure(.failed(String(cString: curl_easy_strerror(code))))
    }
  }

  private func end(_ result: Result<Void, DownloadError>) {
    if let handle { curl_easy_cleanup(handle) }
    if let list { curl_slist_free_all(list) }
    if descriptor >= 0 { _ = close(descriptor) }
    (handle, list) = (nil, nil)
    descriptor = -1
    done(result)
  }
}
