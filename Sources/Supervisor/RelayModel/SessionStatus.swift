/// The status of a session, for `/status` and `pi-relayd sessions`.
package struct SessionStatus: Sendable, Codable, Equatable {
  package enum Activity: String, Sendable, Codable { case asleep, starting, idle, working, compacting }

  /// The presence of a pi that a person runs in a terminal.
  package enum Terminal: String, Sendable, Codable { case connected, away, ended, disconnected }

  package var id: String
  package var name: String
  package var directory: String
  package var activity: Activity
  package var model: String?
  package var pid: Int32?
  package var queued: Int
  package var openDialogs: Int
  package var sessionFile: String?
  package var restarts: Int
  package var isDemo: Bool
  /// `nil` for a session whose agent the daemon runs.
  package var terminal: Terminal?

  package init(
    id: String, name: String, directory: String, activity: Activity, model: String? = nil, pid: Int32? = nil,
    queued: Int, openDialogs: Int, sessionFile: String? = nil, restarts: Int, isDemo: Bool,
    terminal: Terminal? = nil
  ) {
    self.id = id
    self.name = name
    self.directory = directory
    self.activity = activity
    self.model = model
    self.pid = pid
    self.queued = queued
    self.openDialogs = openDialogs
    self.sessionFile = sessionFile
    self.restarts = restarts
    self.isDemo = isDemo
    self.terminal = terminal
  }

  /// The activity in words, the same wherever people read it.
  package var words: String {
    let state =
      switch terminal {
      case nil, .connected: activity.rawValue
      case .away: "not connected"
      case .ended: "ended in its terminal"
      case .disconnected: "disconnected in its terminal"
      }
    return state + (queued > 0 ? ", \(queued) waiting" : "")
  }
}
