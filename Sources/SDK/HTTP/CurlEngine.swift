import CCurl
import Glibc
internal import RelayPipes

/// Transfers over libcurl: one thread, one multi handle, started with the first transfer.
public final class CurlEngine: Sendable {
  public static let shared = CurlEngine()

  private struct State {
    var multi: UnsafeMutableRawPointer?
    var arrivals: [Transfer] = []
    var cancelled: Set<Int> = []
    var next = 0
  }

  private let state = Locked(State())

  public init() {}

  /// Fetches a file. Cancelling the task ends the transfer; a failed one leaves nothing behind.
  public func fetch(_ download: Download) async throws(DownloadError) {
    let number = state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
    let result: Result<Void, DownloadError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        submit(Transfer(number: number, download: download) { continuation.resume(returning: $0) })
      }
    } onCancel: {
      cancel(number)
    }
    if case .failure(let error) = result {
      _ = unlink(download.path)
      throw error
    }
  }

  private func submit(_ transfer: Transfer) {
    let refusal: DownloadError? = state.withLock { state in
      if state.multi == nil {
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        state.multi = curl_multi_init()
        guard state.multi != nil else { return .failed("libcurl could not be started") }
        LoopThread.start(name: "relay-curl") { [self] in run() }
      }
      state.arrivals.append(transfer)
      return nil
    }
    if let refusal { transfer.end(.failure(refusal)) }
    wake()
  }

  private func cancel(_ number: Int) {
    state.withLock { _ = $0.cancelled.insert(number) }
    wake()
  }

  private func wake() {
    // The one call that may come from any thread.
    if let multi = state.withLock({ $0.multi }) { curl_multi_wakeup(multi) }
  }

  // MARK: - Only on the engine's thread

  private func run() {
    guard let multi = state.withLock({ $0.multi }) else { return }
    var running: [UnsafeMutableRawPointer: Transfer] = [:]
    while true {
      let (arrivals, cancelled) = state.withLock { state in
        defer {
          state.arrivals = []
          state.cancelled = []
        }
        return (state.arrivals, state.cancelled)
      }
      for transfer in arrivals { begin(transfer, multi, &running, cancelled) }
      for (handle, transfer) in running where cancelled.contains(transfer.number) {
        running[handle] = nil
        curl_multi_remove_handle(multi, handle)
        transfer.end(.failure(.cancelled))
      }
      var active: Int32 = 0
      curl_multi_perform(multi, &active)
      var code = CURLE_OK
      while let handle = relay_curl_finished(multi, &code) {
        guard let transfer = running.removeValue(forKey: handle) else { continue }
        curl_multi_remove_handle(multi, handle)
        transfer.end(transfer.outcome(code))
      }
      curl_multi_poll(multi, nil, 0, 60_000, nil)
    }
  }

  private func begin(
    _ transfer: Transfer, _ multi: UnsafeMutableRawPointer, _ running: inout [UnsafeMutableRawPointer: Transfer],
    _ cancelled: Set<Int>
  ) {
    guard !cancelled.contains(transfer.number) else {
      transfer.end(.failure(.cancelled))
      return
    }
    do throws(DownloadError) {
      let handle = try transfer.prepare()
      running[handle] = transfer
      curl_multi_add_handle(multi, handle)
    } catch {
      transfer.end(.failure(error))
    }
  }
}

/// One transfer's easy handle and what its callbacks need.
///
/// `@unchecked`: after it is handed over, only the engine's thread touches it.
private final class Transfer: @unchecked Sendable {
  let number: Int
  private let download: Download
  private let done: @Sendable (Result<Void, DownloadError>) -> Void
  private var handle: UnsafeMutableRawPointer?
  private var descriptor: Int32 = -1
  private var written = 0
  private var problem: DownloadError?
  private let gate = UnsafeMutablePointer<relay_curl_gate>.allocate(capacity: 1)

  init(number: Int, download: Download, done: @escaping @Sendable (Result<Void, DownloadError>) -> Void) {
    self.number = number
    self.download = download
    self.done = done
  }

  deinit { gate.deallocate() }

  func prepare() throws(DownloadError) -> UnsafeMutableRawPointer {
    descriptor = open(download.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .cannotWrite(String(cString: strerror(errno))) }
    guard let handle = curl_easy_init() else { throw .failed("libcurl has no memory") }
    self.handle = handle
    let user = Unmanaged.passUnretained(self).toOpaque()
    relay_curl_set_string(handle, CURLOPT_URL, download.url)
    relay_curl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    relay_curl_set_string(handle, CURLOPT_PROTOCOLS_STR, download.allowsPlainHTTP ? "http,https" : "https")
    relay_curl_set_string(handle, CURLOPT_REDIR_PROTOCOLS_STR, download.allowsPlainHTTP ? "http,https" : "https")
    relay_curl_set_long(handle, CURLOPT_TIMEOUT, download.timeoutSeconds)
    relay_curl_set_long(handle, CURLOPT_CONNECTTIMEOUT, min(10, download.timeoutSeconds))
    relay_curl_set_long(handle, CURLOPT_FOLLOWLOCATION, download.proxy == nil ? 1 : 0)
    relay_curl_set_long(handle, CURLOPT_MAXREDIRS, download.maximumRedirects)
    relay_curl_set_string(handle, CURLOPT_ACCEPT_ENCODING, "")
    relay_curl_set_string(handle, CURLOPT_USERAGENT, "pi-relay")
    // An empty one keeps libcurl from taking the environment's, of which nobody here would know.
    relay_curl_set_string(handle, CURLOPT_PROXY, download.proxy ?? "")
    relay_curl_set_pointer(handle, CURLOPT_WRITEDATA, user)
    relay_curl_set_write(handle) { bytes, size, count, user in
      guard let bytes, let user else { return 0 }
      return Unmanaged<Transfer>.fromOpaque(user).takeUnretainedValue().take(bytes, size * count)
    }
    // Behind a proxy it is the proxy that is connected to; whoever sets one lists the hosts instead.
    if download.proxy == nil {
      gate.initialize(
        to: relay_curl_gate(
          judge: { address, user in
            guard let address, let user else { return 0 }
            return Unmanaged<Transfer>.fromOpaque(user).takeUnretainedValue().judge(address) ? 1 : 0
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
        problem = .cannotWrite(String(cString: strerror(errno)))
        return 0
      }
      done += result
    }
    written += count
    return count
  }

  func outcome(_ code: CURLcode) -> Result<Void, DownloadError> {
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

  func end(_ result: Result<Void, DownloadError>) {
    if let handle { curl_easy_cleanup(handle) }
    if descriptor >= 0 { _ = close(descriptor) }
    handle = nil
    descriptor = -1
    done(result)
  }
}
