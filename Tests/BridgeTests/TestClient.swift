import BridgeProtocol
import CLinux
import Glibc
import RelayConcurrency
import RelayJSON
import RelayTransport
import RelayWire

/// A client of a bridge that waits for lines without holding up a thread.
final class TestClient: Sendable {
  private let lines = Mailbox<JSONValue>()
  private let outbox: Outbox
  private let reader: LineReader

  /// - Parameter reads: false for a client that reads nothing until `startReading`.
  init(_ socket: String, reads: Bool = true) throws {
    let descriptor = relay_connect_unix(socket)
    guard descriptor >= 0 else { throw SystemError("connect", code: -descriptor) }
    outbox = Outbox(descriptor: fcntl(descriptor, F_DUPFD_CLOEXEC, 3), limit: 64 << 20)
    let lines = lines
    reader = LineReader(
      descriptor: descriptor, maximumLineLength: 64 << 20,
      handlers: .init(
        line: { framed in
          guard case .line(let bytes) = framed, let value = try? JSONCoding.decode(JSONValue.self, from: bytes) else {
            return
          }
          lines.post(value)
        }, end: { lines.close() }))
    if reads { try reader.start() }
  }

  func startReading() throws { try reader.start() }

  func close() {
    outbox.abandon()
    reader.close()
  }

  func send(_ text: String) throws { try outbox.send(Array((text + "\n").utf8)) }

  /// The next line; `nil` once the bridge has closed the connection.
  func next() async -> JSONValue? { await lines.next() }

  /// The next line that is no event.
  func response() async -> JSONValue? {
    while let line = await next() { if line["type"]?.stringValue != "event" { return line } }
    return nil
  }

  /// The data of the next event of this name.
  func event(_ name: String) async -> JSONValue? {
    while let line = await next() { if line["event"]?.stringValue == name { return line["data"] } }
    return nil
  }

  func ask(_ request: String) async throws -> JSONValue? {
    try send(request)
    return await response()
  }
}
