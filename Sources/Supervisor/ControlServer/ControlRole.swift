internal import CLinux
internal import Glibc
internal import RelayModel

/// The role of the process at the other end of a connection.
package enum ControlRole: Sendable {
  case owner
  /// An agent's process or a descendant of one, which may not command the daemon that supervises it. It has the role of
  /// its session; `nil` for another process that the daemon has started.
  case agent(session: String?)
  /// Another user's process, or one that cannot be inspected.
  case stranger

  /// - Parameters:
  ///   - marker: of the environment of processes that the daemon has started.
  ///   - agents: the processes of agents, with their sessions.
  package static func ofPeer(
    _ connection: Int32, marker: String, agents: @Sendable () async -> [Int32: String]
  ) async -> ControlRole {
    var pid: pid_t = 0
    var uid: uid_t = 0
    guard relay_peer_credentials(connection, &pid, &uid) == 0, uid == geteuid() else { return .stranger }
    // A process that has ended, or is not visible from here, cannot be inspected: refused.
    let began = relay_process_start_time(pid)
    guard pid > 0, began != 0 else { return .stranger }
    let isMarked = relay_process_is_marked(pid, marker) != 0
    let agents = await agents()
    var ancestor = pid
    for _ in 0..<64 where ancestor > 1 {
      if let session = agents[ancestor] { return .agent(session: session) }
      ancestor = relay_process_parent(ancestor)
    }
    // A process that has left its agent is known by its environment, which it may have changed: only where no ancestor
    // says.
    if isMarked { return .agent(session: variable(SessionRecord.environmentVariable, of: pid)) }
    // Where that pi is gone, a program that has outlived it is a person's own.
    if let text = variable(SessionRecord.attachedVariable, of: pid), let attached = Int32(text),
      let session = agents[attached]
    {
      return .agent(session: session)
    }
    return relay_process_start_time(pid) == began ? .owner : .stranger
  }

  private static func variable(_ name: String, of pid: pid_t) -> String? {
    var value = [CChar](repeating: 0, count: 129)
    guard relay_process_variable(pid, name, &value, value.count) != 0 else { return nil }
    return String(decoding: value.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
