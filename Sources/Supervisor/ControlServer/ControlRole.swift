internal import CLinux
internal import Glibc

/// The role of the process at the other end of a connection.
enum ControlRole: Sendable {
  case owner
  /// An agent's process or a descendant of one, which may not command the daemon that supervises it.
  case agent
  /// Another user's process, or one that cannot be inspected.
  case stranger

  /// - Parameters:
  ///   - marker: of the environment of processes that the daemon has started.
  ///   - agents: the processes of agents.
  static func ofPeer(
    _ connection: Int32, marker: String, agents: @Sendable () async -> Set<Int32>
  ) async -> ControlRole {
    var pid: pid_t = 0
    var uid: uid_t = 0
    guard relay_peer_credentials(connection, &pid, &uid) == 0, uid == geteuid() else { return .stranger }
    // A process that has ended, or is not visible from here, cannot be inspected: refused.
    let began = relay_process_start_time(pid)
    guard pid > 0, began != 0 else { return .stranger }
    if relay_process_is_marked(pid, marker) != 0 { return .agent }
    let agents = await agents()
    var ancestor = pid
    for _ in 0..<64 where ancestor > 1 {
      if agents.contains(ancestor) { return .agent }
      ancestor = relay_process_parent(ancestor)
    }
    return relay_process_start_time(pid) == began ? .owner : .stranger
  }
}
