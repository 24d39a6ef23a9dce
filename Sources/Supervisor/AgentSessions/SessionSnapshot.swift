package import AgentRuntime
internal import PiRPC
package import RelayModel
internal import SessionStates

/// A session whose agent the next program of this process continues.
package struct SessionSnapshot: Codable, Sendable {
  package var id: String
  package var connection: PiConnection.Snapshot
  var program: AgentExecutable
  var state: PiState?
  var lastLeaf: String?
  var settles: Bool?
  var restarts: Int
  var dialogs: [PiDialog]
  /// How long each of `dialogs` has waited, by its id; earlier versions do not say.
  var waited: [String: Duration]?
  /// The run in progress.
  var run: SessionRun?

  /// Messages that it is at work on.
  package var messages: [MessageKey] { [run?.prompt.key].compactMap(\.self) + (run?.steering.map(\.prompt.key) ?? []) }
}
