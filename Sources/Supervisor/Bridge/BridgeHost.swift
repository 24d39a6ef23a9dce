package import BridgeProtocol
package import RelayJSON

/// The sessions as bridges know them: states, prompts and questions, without anything of messengers.
package protocol BridgeHost: Sendable {
  /// Decides how far the process at the other end of a connection may reach the session.
  func admits(_ connection: Int32, to session: String) async -> BridgeAdmission
  /// `nil` for a session that is no more.
  func state(of session: String) async -> BridgedSession?
  /// The agent's own commands, each as a JSON object.
  func commands(of session: String) async -> [JSONValue]
  /// The open questions, each as a JSON object with its `id`.
  func questions(of session: String) async -> [JSONValue]
  /// Publishes what pi's own events do not tell, from now on: `input` and `question`, each with a JSON object.
  ///
  /// - Parameter publish: must not wait.
  /// - Returns: a function that ends this.
  func follow(
    _ session: String, _ publish: @escaping @Sendable (_ event: String, _ data: [UInt8]) -> Void
  ) -> @Sendable () -> Void
  /// - Throws: `BridgeRefusal` for a question that is settled, and for answers that it does not take.
  func answer(_ question: String, of session: String, _ answers: JSONValue) async throws
  func reject(_ question: String, of session: String) async throws
  /// Takes a message; it is stored when this returns.
  func prompt(_ session: String, _ prompt: BridgeRequest.Prompt) async throws -> BridgeDelivery
  /// Interrupts the work in progress.
  func abort(_ session: String) async throws
  /// Ends the agent's process. The session stays.
  func shutDown(_ session: String) async throws
}

/// The reach of a client.
package enum BridgeAdmission: Sendable {
  case none
  /// An agent's own process looks at its session: it would decide about its own calls otherwise.
  case looking
  case acting
}

/// A session's present state.
package struct BridgedSession: Sendable, Equatable {
  package var name: String?
  package var isIdle: Bool
  package var hasPendingMessages: Bool

  package init(name: String?, isIdle: Bool, hasPendingMessages: Bool) {
    self.name = name
    self.isIdle = isIdle
    self.hasPendingMessages = hasPendingMessages
  }
}

/// The way that a message went.
package struct BridgeDelivery: Sendable, Equatable {
  package enum Way: String, Sendable { case now, steer, followUp }

  package var way: Way
  /// Indicates that the agent was idle before.
  package var wasIdle: Bool

  package init(way: Way, wasIdle: Bool) {
    self.way = way
    self.wasIdle = wasIdle
  }
}
