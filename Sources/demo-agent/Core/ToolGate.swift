internal import CLinux
internal import Glibc
internal import RelayConcurrency
internal import RelayJSON
internal import RelayTransport
internal import RelayWire

/// The question to the daemon before a tool call, as pi's extension asks it: nothing but the daemon's `allow` lets the call
/// through.
struct ToolGate: Sendable {
  private struct Approve: WireRequest {
    static let method = "extension.approve"

    struct Reply: Codable, Sendable {
      var decision: String
      var reason: String?
    }
    var call: String
    var tool: String
    var input: JSONValue
  }

  private let socket: String

  /// - Returns: `nil` where the daemon has loaded no extension, or has no approvals.
  init?(options: AgentOptions, environment: [String: String]) {
    guard options.hasExtension, environment["PI_RELAY_APPROVALS"] != "off", let path = environment["PI_RELAY_SOCKET"]
    else { return nil }
    socket = path
  }

  /// - Returns: why the call is not to be made; `nil` where it is allowed.
  func obstacle(_ call: String, tool: String, arguments: String) async -> String? {
    do {
      let input = try JSONCoding.decode(JSONValue.self, from: Array(arguments.utf8))
      let reply = try await ask(Approve(call: call, tool: tool, input: input))
      return reply.decision == "allow" ? nil : reply.reason ?? "The person did not approve this call."
    } catch {
      return "Not approved: \(Task.isCancelled ? "the run was stopped" : "\(error)")."
    }
  }

  private func ask(_ question: Approve) async throws -> Approve.Reply {
    let descriptor = relay_connect_unix(socket)
    guard descriptor >= 0 else { throw SystemError("connect", code: -descriptor) }
    let writer = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard writer >= 0 else {
      _ = close(descriptor)
      throw SystemError("fcntl")
    }
    let peer = JSONRPCConnection(input: descriptor, output: writer)
    try peer.start()
    defer { peer.close() }
    return try await peer.request(question, within: nil)
  }
}
