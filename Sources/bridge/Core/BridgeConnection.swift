internal import CLinux
internal import Glibc
internal import RelayWire

/// A connection to one bridge, for a program that does nothing else meanwhile: calls wait.
package final class BridgeConnection {
  private let descriptor: Int32
  private var received: [UInt8] = []
  /// Bytes at the beginning of `received` that hold no newline.
  private var searched = 0

  /// A line of a bridge is far shorter; more without a newline is no bridge.
  private static let maximumLineBytes = 64 << 20

  /// - Throws: `BridgeError` when nothing listens there, or nothing accepts in time.
  package init(to path: String, until deadline: ContinuousClock.Instant) throws(BridgeError) {
    let result = relay_connect_unix_within(path, Self.milliseconds(until: deadline))
    guard result != -EAGAIN else { throw .timedOut }
    guard result >= 0 else {
      throw BridgeError(
        "\(path): \(Self.words(-result)). Use `pi-bridge list` to see the sessions that can be reached.")
    }
    descriptor = result
    // A bridge that is gone must be an error to report, and not a signal that ends the program.
    signal(SIGPIPE, SIG_IGN)
  }

  deinit { _ = close(descriptor) }

  /// Sends one line.
  package func send(_ line: [UInt8], until deadline: ContinuousClock.Instant) throws(BridgeError) {
    let line = line + [UInt8(ascii: "\n")]
    var written = 0
    while written < line.count {
      try wait(for: Int16(POLLOUT), until: deadline)
      let count = line.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + written, line.count - written, Int32(MSG_DONTWAIT))
      }
      if count >= 0 {
        written += count
      } else if errno != EAGAIN, errno != EINTR {
        throw BridgeError("the bridge closed the connection: \(Self.words(errno))")
      }
    }
  }

  /// Waits for the next line that is not empty.
  ///
  /// - Parameter deadline: `nil` waits without a limit.
  /// - Returns: the line without its newline; `nil` when the bridge has closed the connection.
  package func nextLine(until deadline: ContinuousClock.Instant?) throws(BridgeError) -> [UInt8]? {
    while true {
      while let line = takeLine() { if !line.isEmpty { return line } }
      guard received.count < Self.maximumLineBytes else {
        throw BridgeError("the bridge sent more than \(ByteCount(Self.maximumLineBytes)) without a newline")
      }
      try wait(for: Int16(POLLIN), until: deadline)
      guard try readOnce() else { return nil }
    }
  }

  private func takeLine() -> [UInt8]? {
    guard let end = received[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = received.count
      return nil
    }
    var line = received[..<end]
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    defer {
      received.removeFirst(end + 1)
      searched = 0
    }
    return Array(line)
  }

  /// - Returns: false at the end of the stream.
  private func readOnce() throws(BridgeError) -> Bool {
    let size = 64 * 1024
    let start = received.count
    received.append(contentsOf: repeatElement(0, count: size))
    let count = received.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + start, size) }
    let code = errno
    received.removeLast(size - max(0, count))
    guard count < 0 else { return count > 0 }
    guard code == EINTR || code == EAGAIN else {
      if code == ECONNRESET { return false }
      throw BridgeError("the bridge cannot be read: \(Self.words(code))")
    }
    return true
  }

  private func wait(for events: Int16, until deadline: ContinuousClock.Instant?) throws(BridgeError) {
    while true {
      var entry = pollfd(fd: descriptor, events: events, revents: 0)
      let isOver = deadline.map { $0 <= .now } == true
      let result = poll(&entry, 1, isOver ? 0 : deadline.map(Self.milliseconds(until:)) ?? -1)
      if result > 0 { return }
      if result == 0, isOver { throw .timedOut }
      if result < 0, errno != EINTR { throw BridgeError("poll: \(Self.words(errno))") }
    }
  }

  /// The time left, 1 at least.
  private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
    let left = max(.zero, deadline - .now).components
    return Int32(clamping: left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000 + 1)
  }

  private static func words(_ code: Int32) -> String { String(cString: strerror(code)) }
}
