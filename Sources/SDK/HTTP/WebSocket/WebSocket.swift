internal import RelayConcurrency
internal import RelayTransport

/// A WebSocket to a server, RFC 6455: connection, TLS and proxies are libcurl's, frames are wslay's.
public final class WebSocket: Sendable {
  /// The server, and the limits of a connection to it.
  public struct Request: Sendable {
    /// `wss://host[:port]/path?query`.
    public var url: String
    /// Headers of the handshake besides those that the protocol wants.
    public var headers: [(name: String, value: String)] = []
    /// http, https, socks4, socks5 or socks5h; `nil`: no proxy, whatever the environment says.
    public var proxy: String?
    /// Until it is open.
    public var timeoutSeconds = 15
    /// A longer message ends the connection with code 1009.
    public var maximumMessageBytes = 64 << 20
    /// Bytes of messages that may wait to be received before the server is made to wait.
    public var maximumWaitingBytes = 4 << 20
    /// Also `ws://`.
    public var allowsPlain = false

    public init(url: String) { self.url = url }
  }

  /// A whole message, of however many frames.
  public enum Message: Sendable, Equatable {
    case text([UInt8])
    case binary([UInt8])

    /// The content, of either kind.
    public var bytes: [UInt8] {
      switch self {
      case .text(let bytes), .binary(let bytes): bytes
      }
    }
  }

  /// How the server ended the connection.
  public struct Closure: Sendable, Equatable {
    /// The status code of the server's close frame; `nil` where there was no frame, or no code in it.
    public var code: Int?
    /// The server's words; empty where there were none.
    public var reason: String
  }

  private let frames: WebSocketFrames

  private init(_ frames: WebSocketFrames) { self.frames = frames }

  deinit { frames.end() }

  /// Connects and shakes hands.
  public static func connect(_ request: Request) async throws(WebSocketError) -> WebSocket {
    guard let address = WebSocketAddress(request.url) else { throw .refused("its address is not that of a WebSocket") }
    do {
      let frames = try await withDeadline(.seconds(request.timeoutSeconds), clock: LoopClock.shared) {
        let tunnel = try await CurlTunnel.open(
          .init(
            url: address.httpURL, proxy: request.proxy, timeoutSeconds: request.timeoutSeconds,
            allowsPlain: request.allowsPlain))
        let frames = try WebSocketFrames(tunnel, request)
        try await frames.shakeHands(address, request.headers)
        return frames
      }
      return WebSocket(frames)
    } catch let error as WebSocketError {
      throw error
    } catch is DeadlineExceeded {
      throw .timedOut(seconds: request.timeoutSeconds)
    } catch {
      throw .cancelled
    }
  }

  /// The next message; nil when the connection has ended, or the task is cancelled.
  public func next() async -> Message? { await frames.next() }

  /// How it ended, once `next` has answered nil.
  public var closure: Closure? { frames.closure }

  /// The time since bytes last arrived, those of pings included: a service that pings regularly is gone when this grows.
  public var silence: Duration { frames.silence }

  /// Queues a text; never waits.
  public func send(_ text: [UInt8]) throws(WebSocketError) { try frames.send(text) }

  /// Closes the connection; messages that the server sends before its answer are still received.
  public func close(code: Int, reason: String = "") { frames.close(code: code, reason: reason) }

  /// Ends the connection without a word.
  public func drop() { frames.end() }
}

/// The parts of a WebSocket's address that the handshake needs.
struct WebSocketAddress: Equatable {
  let httpURL: String
  let host: String
  let target: String

  init?(_ url: String) {
    guard let separator = url.firstRange(of: "://") else { return nil }
    let scheme: String
    switch url[..<separator.lowerBound].lowercased() {
    case "wss": scheme = "https"
    case "ws": scheme = "http"
    default: return nil
    }
    let rest = url[separator.upperBound...]
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    host = String(rest[..<end])
    guard !host.isEmpty, !host.contains("@"), !url.contains(where: \.isWhitespace) else { return nil }
    let path = rest[end...]
    target = path.hasPrefix("/") ? String(path) : "/" + path
    httpURL = "\(scheme)://\(host)\(target)"
  }
}
