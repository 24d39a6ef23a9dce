import CCurl
import Glibc
internal import RelayConcurrency
internal import RelayTransport

/// A transfer that the engine runs: made ready and ended on the engine's thread.
protocol CurlTransfer: AnyObject, Sendable {
  /// Creates the handle; `nil` when it cannot be created, which it has reported itself.
  func prepare() -> UnsafeMutableRawPointer?
  /// libcurl is done with it.
  func finish(_ code: CURLcode)
  func cancel()
}

/// Transfers over libcurl: one thread, one multi handle, started with the first transfer.
public final class CurlEngine: Sendable {
  /// An engine for all of this process.
  public static let shared = CurlEngine()

  private struct State {
    var multi: UnsafeMutableRawPointer?
    var arrivals: [(number: Int, transfer: any CurlTransfer)] = []
    var cancelled: Set<Int> = []
    /// Numbers of transfers that are being created: a transfer that is cancelled before it is submitted never begins.
    var unsubmitted: Set<Int> = []
    var next = 0
  }

  private let state = Locked(State())

  public init() {}

  /// Fetches a file. Cancelling the task ends the transfer; a failed one leaves nothing behind.
  public func fetch(_ download: Download) async throws(DownloadError) {
    let result = await run { DownloadTransfer(download, done: $0) }
    if case .failure(let error) = result {
      _ = unlink(download.path)
      throw error
    }
  }

  /// Sends a request and returns the answer with any status. Cancelling the task ends the request.
  public func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
    try await run { RequestTransfer(request, done: $0) }.get()
  }

  private func run<Value: Sendable>(
    _ make: @Sendable (@escaping @Sendable (Value) -> Void) -> any CurlTransfer
  ) async -> Value {
    let number = state.withLock { state in
      defer { state.next += 1 }
      state.unsubmitted.insert(state.next)
      return state.next
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        submit(make { continuation.resume(returning: $0) }, number)
      }
    } onCancel: {
      cancel(number)
    }
  }

  private func submit(_ transfer: any CurlTransfer, _ number: Int) {
    let isWanted = state.withLock { state in
      guard state.unsubmitted.remove(number) != nil else { return false }
      if state.multi == nil {
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        state.multi = curl_multi_init()
        precondition(state.multi != nil, "libcurl could not be started")
        LoopThread.start(name: "relay-curl") { [self] in run() }
      }
      state.arrivals.append((number, transfer))
      return true
    }
    guard isWanted else { return transfer.cancel() }
    wake()
  }

  private func cancel(_ number: Int) {
    state.withLock { state in
      if state.unsubmitted.remove(number) == nil { state.cancelled.insert(number) }
    }
    wake()
  }

  private func wake() {
    // The one call that may come from any thread.
    if let multi = state.withLock({ $0.multi }) { curl_multi_wakeup(multi) }
  }

  // MARK: - Only on the engine's thread

  private func run() {
    guard let multi = state.withLock({ $0.multi }) else { return }
    var running: [UnsafeMutableRawPointer: (number: Int, transfer: any CurlTransfer)] = [:]
    while true {
      let (arrivals, cancelled) = state.withLock { state in
        defer {
          state.arrivals = []
          state.cancelled = []
        }
        return (state.arrivals, state.cancelled)
      }
      for (number, transfer) in arrivals {
        guard !cancelled.contains(number) else {
          transfer.cancel()
          continue
        }
        guard let handle = transfer.prepare() else { continue }
        running[handle] = (number, transfer)
        curl_multi_add_handle(multi, handle)
      }
      for (handle, one) in running where cancelled.contains(one.number) {
        running[handle] = nil
        curl_multi_remove_handle(multi, handle)
        one.transfer.cancel()
      }
      var active: Int32 = 0
      curl_multi_perform(multi, &active)
      var code = CURLE_OK
      while let handle = relay_curl_finished(multi, &code) {
        guard let one = running.removeValue(forKey: handle) else { continue }
        curl_multi_remove_handle(multi, handle)
        one.transfer.finish(code)
      }
      curl_multi_poll(multi, nil, 0, 60_000, nil)
    }
  }
}
