import CLinux
import Glibc
package import RelayConcurrency

/// One thread that waits for descriptors and calls back when they are ready.
///
/// Callbacks run on the loop's thread, one after another, and must not block. A descriptor watched here is closed by
/// `close(_:)`, on the loop's thread, so that no callback ever sees its number reused.
package final class EventLoop: Sendable {
  /// For protocol pipes: its callbacks only frame, scan and hand over.
  package static let shared = EventLoop(name: "relay-io")
  /// For logs: its callbacks may wait for a slow disk, which then slows nothing but the writers of those logs.
  package static let logs = EventLoop(name: "relay-logs")

  /// Bytes read at once; a pipe is asked to hold as many.
  package static let chunkSize = 256 * 1024

  package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    package static let read = Interest(rawValue: EPOLLIN.rawValue)
    package static let write = Interest(rawValue: EPOLLOUT.rawValue)
  }

  package struct Token: Hashable, Sendable {
    fileprivate let number: UInt64
  }

  /// Called with a buffer that belongs to the loop and is shared by all callbacks.
  package typealias Callback = @Sendable (UnsafeMutableRawBufferPointer) -> Void

  private struct State {
    var next: UInt64 = 1
    var callbacks: [UInt64: Callback] = [:]
    var errands: [@Sendable () -> Void] = []
    var jobs: [UnownedJob] = []
    var started = false
    /// `nil` before the loop's thread runs.
    var thread: pthread_t?
  }

  private let name: String
  private let epoll: Int32
  private let wakeup: Int32
  private let state = Locked(State())

  package init(name: String) {
    self.name = name
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    precondition(epoll >= 0 && wakeup >= 0, "the system refused an event loop: \(SystemError.reason())")
    var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: 0))
    epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup, &event)
  }

  /// Calls back whenever the descriptor is ready, until `close` or `forget`.
  package func watch(_ descriptor: Int32, _ interest: Interest, _ callback: @escaping Callback) throws(SystemError)
    -> Token
  {
    start()
    let number = state.withLock { state in
      let number = state.next
      state.next += 1
      state.callbacks[number] = callback
      return number
    }
    var event = epoll_event(events: interest.rawValue, data: epoll_data_t(u64: number))
    if epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0 {
      let error = SystemError("epoll_ctl")
      state.withLock { _ = $0.callbacks.removeValue(forKey: number) }
      throw error
    }
    return Token(number: number)
  }

  /// Changes what is waited for; the empty set pauses.
  package func change(_ token: Token, _ descriptor: Int32, to interest: Interest) {
    var event = epoll_event(events: interest.rawValue, data: epoll_data_t(u64: token.number))
    epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event)
  }

  /// Ends the watch and closes the descriptor, on the loop's thread; only once, however often it is asked.
  package func close(_ token: Token, _ descriptor: Int32) {
    perform { [self] in
      // The number may be somebody else's by the time of a second call.
      guard state.withLock({ $0.callbacks.removeValue(forKey: token.number) }) != nil else { return }
      epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
      _ = Glibc.close(descriptor)
    }
  }

  /// Runs something on the loop's thread, soon, in the order of the calls.
  package func perform(_ errand: @escaping @Sendable () -> Void) {
    start()
    state.withLock { $0.errands.append(errand) }
    wake()
  }

  private func wake() {
    var one: UInt64 = 1
    _ = write(wakeup, &one, 8)
  }

  private func start() {
    let mustStart = state.withLock { state in
      defer { state.started = true }
      return !state.started
    }
    if mustStart { LoopThread.start(name: name) { [self] in run() } }
  }

  private func run() {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunkSize, alignment: 64)
    defer { buffer.deallocate() }
    let capacity: Int32 = 64
    let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: Int(capacity))
    defer { events.deallocate() }
    state.withLock { $0.thread = pthread_self() }
    while true {
      let count = epoll_wait(epoll, events, capacity, hasJobs ? 0 : -1)
      if count < 0 {
        if errno == EINTR { continue }
        return
      }
      for index in 0..<Int(count) {
        let number = events[index].data.u64
        if number == 0 {
          runErrands()
        } else if let callback = state.withLock({ $0.callbacks[number] }) {
          callback(buffer)
          runJobs()
        }
      }
      runJobs()
    }
  }

  private func runErrands() {
    var counter: UInt64 = 0
    _ = read(wakeup, &counter, 8)
    let errands = state.withLock { state in
      defer { state.errands = [] }
      return state.errands
    }
    for errand in errands { errand() }
  }

  // MARK: - As an executor

  private var hasJobs: Bool { state.withLock { !$0.jobs.isEmpty } }

  /// Jobs may create jobs: a chain of jobs continues for this many rounds before descriptors are served.
  private static let maximumChain = 32

  private func runJobs() {
    for _ in 0..<Self.maximumChain {
      let jobs = state.withLock { state in
        defer { state.jobs = [] }
        return state.jobs
      }
      if jobs.isEmpty { return }
      for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }
}

/// Tasks on the path of every delta prefer the loop's thread, so that work from a callback continues without waking
/// another thread. Like callbacks, they must not block.
extension EventLoop: TaskExecutor {
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    start()
    let isElsewhere = state.withLock { state in
      state.jobs.append(job)
      return state.thread.map { pthread_equal($0, pthread_self()) == 0 } ?? true
    }
    if isElsewhere { wake() }
  }
}

/// A detached thread with a stack that deeply nested JSON needs, and a name visible in `ps -L`.
package enum LoopThread {
  private final class Body {
    let name: String
    let run: @Sendable () -> Void
    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  package static func start(name: String, _ run: @escaping @Sendable () -> Void) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, 2 << 20)
    var thread = pthread_t()
    let body = Unmanaged.passRetained(Body(name: name, run: run))
    let code = pthread_create(
      &thread, &attributes,
      { argument in
        guard let argument else { return nil }
        let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        relay_name_thread(body.name)
        body.run()
        return nil
      }, body.toOpaque())
    pthread_attr_destroy(&attributes)
    precondition(code == 0, "the system refused a thread: \(SystemError.reason(of: code))")
  }
}
