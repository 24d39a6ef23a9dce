import Glibc
internal import RelayConcurrency
import RelayJSON
internal import RelayTransport
import RelayWire

/// A connection to a server with a protocol of lines, as IRC. libcurl does TLS and proxies.
///
/// `@unchecked`: state without a lock is used on the loop's thread alone.
public final class LineConnection: @unchecked Sendable {
  /// The server, and the limits of a connection to it.
  public struct Request: Sendable {
    /// A name or an address; IPv6 in brackets.
    public var host: String
    /// The server's TCP port.
    public var port: Int
    /// False for a connection in the clear.
    public var usesTLS: Bool
    /// A PEM file of certificates to trust instead of the system's.
    public var trust: String?
    /// http, https, socks4, socks5 or socks5h; `nil`: no proxy, whatever the environment says.
    public var proxy: String?
    /// Until it is open.
    public var timeoutSeconds = 15
    /// A longer line is passed over.
    public var maximumLineBytes = 16 << 10
    /// After so many seconds without a word `probe` asks the server whether it is there, and after twice as many the
    /// connection ends: one whose other end is gone shows nothing by itself.
    public var quietSeconds = 60
    /// The line that asks the server whether it is there; with `nil` the server may be silent for any time.
    public var probe: String?

    public init(host: String, port: Int, usesTLS: Bool = true) {
      self.host = host
      self.port = port
      self.usesTLS = usesTLS
    }

    /// A connection as the settings of a messenger describe it.
    ///
    /// - Parameters:
    ///   - proxySetting: goes before the environment's proxy.
    ///   - probe: asks the server whether it is there.
    public init(host: String, port: Int, usesTLS: Bool, trust: String?, proxySetting: String?, probe: String) {
      self.init(host: host, port: port, usesTLS: usesTLS)
      self.trust = trust
      self.probe = probe
      proxy = ProxyRules(setting: proxySetting).proxy(for: url)?.url
    }

    /// A connection that nobody on the way can read: it is encrypted, or does not leave this machine.
    public var isPrivate: Bool { usesTLS || ["localhost", "127.0.0.1", "[::1]"].contains(host) }

    /// The address as proxy rules know it.
    public var url: String { "\(usesTLS ? "https" : "http")://\(host):\(port)" }
  }

  /// The reason why there is no connection.
  public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
  }

  /// Lines that may wait to be received before the server is made to wait, and bytes that it may leave unread.
  private static let maximumWaiting = 5_000
  private static let maximumUnsent = 1 << 20

  private let loop = EventLoop.shared
  private let lines = Mailbox<[UInt8]>()
  private let waiting = Locked(0)
  private let tunnel: CurlTunnel
  private var framer: LineFramer
  /// A copy of the tunnel's descriptor, which the loop may close by itself.
  private var watched: Int32
  private var token: EventLoop.Token?
  private var unsent: [UInt8] = []
  private var isPaused = false
  private let clock = LoopClock.shared
  private let heard = Locked(LoopClock.shared.now)
  /// Set before anybody else has the connection.
  private var watch: Task<Void, Never>?

  /// Connects.
  public static func connect(_ request: Request) async throws(Failure) -> LineConnection {
    let tunnel: CurlTunnel
    do {
      tunnel = try await CurlTunnel.open(
        .init(
          url: request.url, proxy: request.proxy, timeoutSeconds: request.timeoutSeconds, allowsPlain: !request.usesTLS,
          trust: request.trust, isHTTP: false))
    } catch .timedOut(let seconds) {
      throw Failure(description: "no connection within \(Duration.seconds(seconds).forPeople)")
    } catch {
      throw Failure(description: "\(error)")
    }
    let connection = LineConnection(tunnel, request)
    guard connection.watched >= 0 else { throw Failure(description: SystemError.reason(of: errno)) }
    connection.loop.perform { [weak connection] in connection?.start() }
    if let probe = request.probe { connection.watchSilence(.seconds(request.quietSeconds), probe) }
    return connection
  }

  private init(_ tunnel: CurlTunnel, _ request: Request) {
    self.tunnel = tunnel
    framer = LineFramer(maximumLineLength: request.maximumLineBytes)
    watched = fcntl(tunnel.descriptor, F_DUPFD_CLOEXEC, 3)
  }

  deinit {
    watch?.cancel()
    if let token { loop.close(token, watched) } else if watched >= 0 { _ = Glibc.close(watched) }
  }

  /// The next line, without what ends it; nil when the connection has ended, or the task is cancelled.
  public func next() async -> [UInt8]? {
    guard let line = await lines.next() else { return nil }
    let left = waiting.withLock { waiting in
      waiting -= 1
      return waiting
    }
    if left == Self.maximumWaiting / 2 { loop.perform { [weak self] in self?.resume() } }
    return line
  }

  /// Queues a line, to which CR and LF are added; never waits. Of one that cannot be sent nothing is said: the connection ends.
  public func send(_ line: String) {
    loop.perform { [weak self] in
      guard let self, token != nil else { return }
      unsent += Array(line.utf8) + [13, 10]
      if unsent.count > Self.maximumUnsent { finish() } else { flush() }
    }
  }

  /// Ends the connection once what was queued before has been handed to the system, as far as it takes it now.
  public func drop() { loop.perform { [weak self] in self?.finish() } }

  private func watchSilence(_ limit: Duration, _ probe: String) {
    watch = Task { [weak self, clock] in
      // A machine that was busy or asleep for long must ask, too, before it gives up.
      var isAsked = false
      while (try? await clock.sleep(for: limit)) != nil, let self {
        let isSilent = heard.withLock { $0 }.duration(to: clock.now) >= limit
        if isSilent, isAsked { return drop() }
        if isSilent { send(probe) }
        isAsked = isSilent
      }
    }
  }

  // MARK: - On the loop's thread

  private func start() {
    do {
      token = try loop.watch(watched, .read) { [weak self] buffer in self?.woken(buffer) }
    } catch {
      lines.close()
    }
  }

  private func woken(_ buffer: UnsafeMutableRawBufferPointer) {
    flush()
    // TLS may hold what the descriptor no longer shows: all of it is read.
    while !isPaused, token != nil {
      switch tunnel.read(into: buffer) {
      case .bytes(let count):
        heard.withLock { $0 = clock.now }
        framer.feed(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { framed in
          guard case .line(let bytes) = framed else { return }
          isPaused = waiting.withLock { waiting in
            waiting += 1
            return waiting >= Self.maximumWaiting
          }
          lines.post(Array(bytes))
        }
      case .notNow: return watchForMore()
      case .ended: return finish()
      }
    }
    watchForMore()
  }

  private func flush() {
    while !unsent.isEmpty, token != nil {
      switch unsent.withUnsafeBytes({ tunnel.write($0) }) {
      case .bytes(let count): unsent.removeFirst(count)
      case .notNow: return watchForMore()
      case .ended: return finish()
      }
    }
  }

  private func watchForMore() {
    guard let token else { return }
    var interest: EventLoop.Interest = isPaused ? [] : .read
    if !unsent.isEmpty { interest.insert(.write) }
    loop.change(token, watched, to: interest)
  }

  private func resume() {
    guard isPaused else { return }
    isPaused = false
    // Bytes that TLS holds do not show at the descriptor.
    withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 16) { woken($0) }
  }

  private func finish() {
    guard let token else { return }
    loop.close(token, watched)
    self.token = nil
    watched = -1
    lines.close()
  }
}
