package import AgentRuntime
package import PiRPC

/// The facts that a session knows of its agent, beyond the state of the process. A pure value.
package struct AgentFacts {
  /// The program that was started last.
  package private(set) var program: AgentExecutable?
  /// The agent's own report of its state.
  package private(set) var state: PiState?
  /// The commands that the running process knows; `nil` until it has told them.
  package private(set) var commands: [PiCommandList.Command]?
  /// How often the agent exited in the middle of a run.
  package private(set) var restarts = 0
  /// This release of pi sends `agent_settled`; `nil` while unknown.
  package private(set) var settles: Bool?
  /// An agent of an earlier daemon may not have exited yet.
  package private(set) var mayHavePredecessor: Bool

  package init(isRestored: Bool) { mayHavePredecessor = isRestored }

  /// Continues with an agent that runs already.
  package mutating func adopt(_ program: AgentExecutable, settles: Bool?, restarts: Int) {
    self.program = program
    self.settles = settles
    self.restarts = restarts
    mayHavePredecessor = false
  }

  package var takesSessionID: Bool { program?.takesSessionID == true }

  package mutating func startBegan(_ program: AgentExecutable) { self.program = program }

  package mutating func predecessorIsGone() { mayHavePredecessor = false }

  package mutating func processBegan() { commands = nil }

  package mutating func learn(_ state: PiState) { self.state = state }

  package mutating func learn(_ commands: [PiCommandList.Command]) { self.commands = commands }

  package mutating func exitedInRun() { restarts += 1 }

  /// Notes an event that shows whether this pi says `agent_settled`.
  package mutating func note(_ event: PiEvent) { if case .agentEnd(.some) = event { settles = true } }

  /// The reason why the agent's model cannot take a message.
  package func refusal(of prepared: PreparedPrompt) -> String? {
    guard !prepared.images.isEmpty, let model = state?.model, let input = model.input, !input.contains("image") else {
      return nil
    }
    return "The model \(model.name ?? model.id) takes no images, so the message was not sent. "
      + "Choose another with /model, or send it without the image."
  }
}
