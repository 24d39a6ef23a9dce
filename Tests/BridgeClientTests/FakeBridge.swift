import BridgeProtocol
import CLinux
import FoundationEssentials
import Glibc
import RelayConcurrency
import RelayJSON
import RelayTransport
import TestSupport

/// A bridge that answers as a test says, with its registry file in a folder of the test's.
final class FakeBridge: Sendable {
  typealias Answer = @Sendable (_ request: JSONValue, _ send: (String) -> Void) -> Void

  let socket: String
  private let descriptor: Int32
  private let token = Locked<EventLoop.Token?>(nil)
  private let received = Locked<[JSONValue]>([])

  /// - Parameters:
  ///   - pid: of a process that is alive.
  ///   - facts: further members of the registry file, as JSON.
  ///   - answer: called for each request. Closes the connection by sending an empty line.
  init(
    in folder: TemporaryFolder, pid: Int32 = getpid(), _ facts: String = "", answer: @escaping Answer
  ) throws {
    socket = "\(folder.path)/pi-\(pid).sock"
    descriptor = relay_listen_unix(socket)
    guard descriptor >= 0 else { throw SystemError("listen", code: -descriptor) }
    try FileManager.default.createDirectory(atPath: folder.path + "/instances", withIntermediateDirectories: true)
    try folder.write(
      "instances/\(pid).json",
      #"{"protocol":"pi-session-bridge.v1","pid":\#(pid),"socketPath":"\#(socket)"\#(facts.isEmpty ? "" : ",")\#(facts)}"#
    )
    let (descriptor, received) = (descriptor, received)
    let watch = try EventLoop.shared.watch(descriptor, .read) { _ in
      let connection = relay_accept(descriptor)
      if connection >= 0 { Self.serve(connection, received, answer) }
    }
    token.withLock { $0 = watch }
  }

  deinit {
    token.withLock { token in
      if let token { EventLoop.shared.close(token, descriptor) }
      token = nil
    }
  }

  var requests: [JSONValue] { received.withLock { $0 } }

  private static func serve(_ connection: Int32, _ received: Locked<[JSONValue]>, _ answer: @escaping Answer) {
    let outbox = Outbox(descriptor: fcntl(connection, F_DUPFD_CLOEXEC, 3), limit: 1 << 20)
    let send: @Sendable (String) -> Void = { line in
      // A client that has left reads nothing more.
      if line.isEmpty { shutdown(connection, Int32(SHUT_WR)) } else { try? outbox.send(Array((line + "\n").utf8)) }
    }
    send(#"{"type":"bridge_hello","protocol":"pi-session-bridge.v1","state":{"isIdle":true}}"#)
    let reader = LineReader(
      descriptor: connection, maximumLineLength: 1 << 20,
      handlers: .init(
        line: { framed in
          guard case .line(let bytes) = framed, let request = try? JSONCoding.decode(JSONValue.self, from: bytes) else {
            return
          }
          received.withLock { $0.append(request) }
          answer(request, send)
        }, end: { outbox.abandon() }))
    do { try reader.start() } catch { outbox.abandon() }
  }

  /// The answer to a request.
  static func response(_ request: JSONValue, success: Bool = true, _ data: String = "{}") -> String {
    let id = request["id"]?.stringValue ?? ""
    let command = request["type"]?.stringValue ?? ""
    return
      #"{"type":"response","id":"\#(id)","command":"\#(command)","success":\#(success),\#(success ? "\"data\":\(data)" : "\"error\":\"no\"")}"#
  }
}
