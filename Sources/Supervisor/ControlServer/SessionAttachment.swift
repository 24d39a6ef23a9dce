package import AgentExtension
package import BridgeProtocol
internal import CLinux
internal import Glibc
internal import Logging
internal import RelayLogging
internal import RelayTransport
package import RelayWire

/// Makes this connection the one to a pi that a person runs in a terminal. After the answer it speaks pi's own protocol, as
/// `pi --mode rpc` does on its standard streams: the daemon writes commands, pi writes answers and events.
package struct SessionAttachRequest: WireRequest, Equatable {
  package static let method = "session.attach"
  package typealias Reply = ExtensionHello.Reply

  /// The extension's release.
  package var version: String?
  /// pi's own id of the session.
  package var session: String
  package var name: String?
  package var directory: String
  /// Why the session begins, in pi's words: `startup`, `reload`; `new`, `resume` or `fork` where the terminal has turned to it
  /// from another.
  package var reason: String?
  package var bridge: BridgePreferences?

  package init(
    version: String? = nil, session: String, name: String? = nil, directory: String, reason: String? = nil
  ) {
    self.version = version
    self.session = session
    self.name = name
    self.directory = directory
    self.reason = reason
  }
}

/// A process that asks to be the agent of a session.
package struct AttachingProcess: Sendable {
  package let pid: Int32
  package let startTime: UInt64

  package init(pid: Int32, startTime: UInt64) {
    self.pid = pid
    self.startTime = startTime
  }
}

/// A connection on which pi's own protocol is spoken.
package struct RawConnection: Sendable {
  /// The descriptor to read from.
  package let input: Int32
  /// The descriptor to write to.
  package let output: Int32
  /// The beginning of a line that was read already.
  package let held: [UInt8]
}

/// The sessions whose agents people run in terminals.
package protocol SessionAttachments: Sendable {
  /// Gives a session its agent.
  ///
  /// - Parameter connect: answers the request; afterwards the connection is the caller's. `nil` where it has ended.
  func attach(
    _ request: SessionAttachRequest, by process: AttachingProcess,
    connect: @Sendable (ExtensionHello.Reply) async -> RawConnection?
  ) async throws(WireError)
  /// Reports whether a process, and not one that descends from it, is or was the agent of such a session.
  func wasAttached(_ pid: Int32) -> Bool
}

extension ControlServer {
  /// The process at the other end of a connection; `nil` where it is not visible from here.
  static func process(at connection: Int32) -> Int32? {
    var pid: pid_t = 0
    var uid: uid_t = 0
    return relay_peer_credentials(connection, &pid, &uid) == 0 && pid > 0 ? pid : nil
  }

  /// Serves a connection that asks to become that of an agent.
  ///
  /// - Returns: when the connection is not this server's any more.
  func attach(
    _ request: IncomingRequest, _ peer: JSONRPCConnection, _ descriptor: Int32, isOwner: Bool
  ) async {
    do throws(WireError) {
      guard let pid = Self.process(at: descriptor) else {
        throw WireError(.forbidden, "the process at the other end cannot be inspected")
      }
      // A pi that turns to another session is still known as the agent of the last one.
      guard isOwner || handlers.attachments.wasAttached(pid) else {
        throw WireError(.forbidden, "this pi runs within an agent of pi-relayd, whose sessions are known already")
      }
      let wish = try request.params(SessionAttachRequest.self)
      let process = AttachingProcess(pid: pid, startTime: relay_process_start_time(pid))
      try await handlers.attachments.attach(wish, by: process) { reply in
        request.reply(reply)
        return await peer.handOver().map { RawConnection(input: $0.input, output: $0.output, held: $0.held) }
      }
    } catch {
      request.fail(error)
    }
  }
}
