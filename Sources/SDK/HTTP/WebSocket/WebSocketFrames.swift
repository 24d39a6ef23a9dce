import CWslay
import Glibc
internal import RelayConcurrency
internal import RelayTransport

/// The frames of one WebSocket, between wslay and the tunnel.
///
/// `@unchecked`: state without a lock is used on the loop's thread alone.
final class WebSocketFrames: @unchecked Sendable {
  private struct Shared {
    var waitingBytes = 0
    var closure: WebSocket.Closure?
    var hasEnded = false
    var queuedBytes = 0
    /// The time at which bytes last arrived.
    var heard = LoopClock.shared.now
  }

  private enum Phase {
    case handshake(WebSocketHandshake, received: [UInt8], CheckedContinuation<Void, any Error>)
    case open
    case ended
  }

  private let loop = EventLoop.shared
  private let maximumWaitingBytes: Int
  private let messages = Mailbox<WebSocket.Message>()
  private let shared = Locked(Shared())
  private var tunnel: CurlTunnel?
  /// A copy of the tunnel's descriptor, which the loop may close by itself.
  private var watched: Int32 = -1
  private var token: EventLoop.Token?
  private var context: wslay_event_context_ptr?
  private var phase = Phase.ended
  /// The rest of the handshake that the tunnel did not take yet, and the bytes that came behind the server's answer.
  private var unsent: ArraySlice<UInt8> = []
  private var early: ArraySlice<UInt8> = []
  private var isPaused = false
  private var hasTunnelEnded = false
  private var isGivenUp = false

  /// More that the server does not take ends the connection.
  private static let maximumQueuedBytes = 8 << 20

  init(_ tunnel: CurlTunnel, _ request: WebSocket.Request) throws(WebSocketError) {
    self.tunnel = tunnel
    maximumWaitingBytes = request.maximumWaitingBytes
    var callbacks = Self.callbacks
    guard wslay_event_context_client_init(&context, &callbacks, Unmanaged.passUnretained(self).toOpaque()) == 0 else {
      throw .unreachable("no memory")
    }
    wslay_event_config_set_max_recv_msg_length(context, UInt64(request.maximumMessageBytes))
    watched = fcntl(tunnel.descriptor, F_DUPFD_CLOEXEC, 3)
    guard watched >= 0 else { throw .unreachable(SystemError.reason()) }
  }

  deinit {
    wslay_event_context_free(context)
    if let token {
      loop.close(token, watched)
    } else if watched >= 0 {
      _ = Glibc.close(watched)
    }
  }

  // MARK: - For any thread

  func shakeHands(_ address: WebSocketAddress, _ headers: [(name: String, value: String)]) async throws {
    let handshake = WebSocketHandshake()
    let request = handshake.request(host: address.host, target: address.target, headers: headers)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        loop.perform { [self] in
          guard !isGivenUp else {
            continuation.resume(throwing: CancellationError())
            return
          }
          phase = .handshake(handshake, received: [], continuation)
          unsent = request[...]
          do {
            token = try loop.watch(watched, [.read, .write]) { [weak self] _ in self?.woken() }
          } catch {
            fail(WebSocketError.unreachable("\(error)"))
          }
        }
      }
    } onCancel: {
      loop.perform { [self] in
        isGivenUp = true
        fail(CancellationError())
      }
    }
  }

  func next() async -> WebSocket.Message? {
    guard let message = await messages.next() else { return nil }
    let hasRoom = shared.withLock { shared in
      shared.waitingBytes -= message.bytes.count
      return shared.waitingBytes < maximumWaitingBytes
    }
    if hasRoom { loop.perform { [weak self] in self?.resume() } }
    return message
  }

  var closure: WebSocket.Closure? { shared.withLock { $0.closure } }

  var silence: Duration { shared.withLock { $0.heard }.duration(to: LoopClock.shared.now) }

  func send(_ text: [UInt8]) throws(WebSocketError) {
    let isTaken = shared.withLock { shared in
      guard !shared.hasEnded, shared.queuedBytes + text.count <= Self.maximumQueuedBytes else { return false }
      shared.queuedBytes += text.count
      return true
    }
    guard isTaken else { throw .closed }
    loop.perform { [weak self] in
      guard let self else { return }
      text.withUnsafeBufferPointer { bytes in
        var message = wslay_event_msg(
          opcode: UInt8(WSLAY_TEXT_FRAME.rawValue), msg: bytes.baseAddress, msg_length: bytes.count)
        // Refused only once a close is on its way.
        wslay_event_queue_msg(context, &message)
      }
      turn()
    }
  }

  func close(code: Int, reason: String) {
    loop.perform { [weak self] in
      guard let self else { return }
      let bytes = Array(reason.utf8.prefix(120))
      wslay_event_queue_close(context, UInt16(clamping: code), bytes, bytes.count)
      turn()
    }
  }

  func end() { loop.perform { [self] in finish() } }

  // MARK: - On the loop's thread

  private func woken() {
    // Without a request the loop only reports that the connection is over: the rest of its data is read now.
    if isPaused, wslay_event_want_write(context) == 0 { isPaused = false }
    turn()
  }

  private func turn() {
    switch phase {
    case .ended: return
    case .handshake(let handshake, let received, let continuation):
      guard continueHandshake(handshake, received, continuation) else { return }
      fallthrough
    case .open: exchange()
    }
  }

  /// - Returns: whether the connection is open.
  private func continueHandshake(
    _ handshake: WebSocketHandshake, _ received: [UInt8], _ continuation: CheckedContinuation<Void, any Error>
  ) -> Bool {
    guard flush() else {
      fail(WebSocketError.refused("it closed the connection"))
      return false
    }
    var received = received
    var isOver = false
    withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 16) { buffer in
      while case .bytes(let count)? = readTunnel(buffer, &isOver) { received += buffer[..<count] }
    }
    phase = .handshake(handshake, received: received, continuation)
    do throws(WebSocketError) {
      guard let length = try handshake.read(received) else {
        if isOver {
          fail(WebSocketError.refused("it closed the connection"))
        } else {
          watchFor(unsent.isEmpty ? .read : [.read, .write])
        }
        return false
      }
      early = received[length...]
      phase = .open
      continuation.resume()
      return true
    } catch {
      fail(error)
      return false
    }
  }

  private func readTunnel(_ buffer: UnsafeMutableRawBufferPointer, _ isOver: inout Bool) -> CurlTunnel.Transferred? {
    guard let tunnel else { return nil }
    let result = tunnel.read(into: buffer)
    if result == .ended { isOver = true }
    return result
  }

  /// Writes what is left of the request; false when the connection has ended.
  private func flush() -> Bool {
    while !unsent.isEmpty, let tunnel {
      switch unsent.withUnsafeBytes({ tunnel.write($0) }) {
      case .bytes(let count): unsent = unsent.dropFirst(count)
      case .notNow: return true
      case .ended: return false
      }
    }
    return true
  }

  /// Takes what has come and sends what waits.
  private func exchange() {
    if !isPaused, wslay_event_want_read(context) != 0, wslay_event_recv(context) != 0 {
      if !hasTunnelEnded { complain() }
      return finish()
    }
    if wslay_event_want_write(context) != 0, wslay_event_send(context) != 0 { return finish() }
    shared.withLock { $0.queuedBytes = wslay_event_get_queued_msg_length(context) }
    if wslay_event_want_read(context) == 0, wslay_event_want_write(context) == 0 { return finish() }
    var interest: EventLoop.Interest = isPaused ? [] : .read
    if wslay_event_want_write(context) != 0 { interest.insert(.write) }
    watchFor(interest)
  }

  /// The server has broken the protocol in a way that makes wslay give up without a word. Best effort.
  private func complain() {
    var frame: [UInt8] = [0x88, 0x82, 0, 0, 0, 0]
    let mask = (0..<4).map { _ in UInt8.random(in: 0...255) }
    frame.replaceSubrange(2..<6, with: mask)
    let code = UInt16(WSLAY_CODE_PROTOCOL_ERROR.rawValue)
    frame += [UInt8(code >> 8) ^ mask[0], UInt8(code & 0xFF) ^ mask[1]]
    _ = frame.withUnsafeBytes { tunnel?.write($0) }
  }

  private func watchFor(_ interest: EventLoop.Interest) {
    if let token { loop.change(token, watched, to: interest) }
  }

  private func resume() {
    guard isPaused else { return }
    isPaused = false
    turn()
  }

  private func fail(_ error: any Error) {
    guard case .handshake(_, _, let continuation) = phase else { return }
    finish()
    continuation.resume(throwing: error)
  }

  private func finish() {
    if case .ended = phase, token == nil { return }
    phase = .ended
    if let token { loop.close(token, watched) } else if watched >= 0 { _ = Glibc.close(watched) }
    token = nil
    watched = -1
    tunnel = nil
    let code = wslay_event_get_close_received(context) != 0 ? Int(wslay_event_get_status_code_received(context)) : nil
    shared.withLock { shared in
      shared.hasEnded = true
      if shared.closure == nil { shared.closure = WebSocket.Closure(code: code, reason: "") }
    }
    messages.close()
  }

  fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> CurlTunnel.Transferred {
    if !early.isEmpty {
      let count = min(early.count, buffer.count)
      buffer.copyBytes(from: early.prefix(count))
      early = early.dropFirst(count)
      return .bytes(count)
    }
    if isPaused { return .notNow }
    let result = tunnel?.read(into: buffer) ?? .ended
    if case .bytes = result { shared.withLock { $0.heard = LoopClock.shared.now } }
    return note(result)
  }

  fileprivate func write(_ bytes: UnsafeRawBufferPointer) -> CurlTunnel.Transferred {
    note(tunnel?.write(bytes) ?? .ended)
  }

  private func note(_ result: CurlTunnel.Transferred) -> CurlTunnel.Transferred {
    if result == .ended { hasTunnelEnded = true }
    return result
  }

  fileprivate func take(_ opcode: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
    switch opcode {
    case Int(WSLAY_TEXT_FRAME.rawValue): post(.text(Array(bytes)))
    case Int(WSLAY_BINARY_FRAME.rawValue): post(.binary(Array(bytes)))
    case Int(WSLAY_CONNECTION_CLOSE.rawValue):
      let code = bytes.count >= 2 ? Int(bytes[0]) << 8 | Int(bytes[1]) : nil
      let reason = String(decoding: bytes.dropFirst(2), as: UTF8.self)
      shared.withLock { $0.closure = WebSocket.Closure(code: code, reason: reason) }
    default: break
    }
  }

  private func post(_ message: WebSocket.Message) {
    let isFull = shared.withLock { shared in
      shared.waitingBytes += message.bytes.count
      return shared.waitingBytes >= maximumWaitingBytes
    }
    if isFull { isPaused = true }
    messages.post(message)
  }
}

extension WebSocketFrames {
  private static func of(_ user: UnsafeMutableRawPointer?) -> WebSocketFrames? {
    user.map { Unmanaged<WebSocketFrames>.fromOpaque($0).takeUnretainedValue() }
  }

  fileprivate static var callbacks: wslay_event_callbacks {
    wslay_event_callbacks(
      recv_callback: { context, buffer, length, _, user in
        guard let frames = WebSocketFrames.of(user), let buffer else { return -1 }
        let room = UnsafeMutableRawBufferPointer(start: buffer, count: length)
        return WebSocketFrames.report(frames.read(into: room), context)
      },
      send_callback: { context, bytes, length, _, user in
        guard let frames = WebSocketFrames.of(user), let bytes else { return -1 }
        return WebSocketFrames.report(frames.write(UnsafeRawBufferPointer(start: bytes, count: length)), context)
      },
      genmask_callback: { _, buffer, length, _ in
        // Unpredictable to whoever chooses what is sent: RFC 6455, §5.3.
        getrandom(buffer, length, 0) == length ? 0 : -1
      },
      on_frame_recv_start_callback: nil, on_frame_recv_chunk_callback: nil, on_frame_recv_end_callback: nil,
      on_msg_recv_callback: { _, message, user in
        guard let frames = WebSocketFrames.of(user), let message = message?.pointee else { return }
        frames.take(
          Int(message.opcode), UnsafeBufferPointer(start: message.msg, count: message.msg_length))
      })
  }

  private static func report(_ result: CurlTunnel.Transferred, _ context: wslay_event_context_ptr?) -> Int {
    switch result {
    case .bytes(let count): return count
    case .notNow: wslay_event_set_error(context, Int32(WSLAY_ERR_WOULDBLOCK.rawValue))
    case .ended: wslay_event_set_error(context, Int32(WSLAY_ERR_CALLBACK_FAILURE.rawValue))
    }
    return -1
  }
}
