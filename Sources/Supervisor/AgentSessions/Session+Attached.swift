package import AgentRuntime
package import BridgeProtocol
internal import Logging
internal import PiRPC
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayTransport
package import SessionStates

/// A pi that a person runs in a terminal, and its connection to the daemon.
package struct AttachedAgent: Sendable {
  package let process: AttachedProcess
  /// The descriptor that takes commands.
  package let input: Int32
  /// The descriptor from which events come.
  package let output: Int32
  /// The beginning of a line that another reader of the connection has read.
  package let held: [UInt8]
  package let bridge: BridgePreferences?

  package init(
    process: AttachedProcess, input: Int32, output: Int32, held: [UInt8], bridge: BridgePreferences? = nil
  ) {
    self.bridge = bridge
    self.process = process
    self.input = input
    self.output = output
    self.held = held
  }
}

// A session whose agent a person runs in a terminal: the agent connects, works for the terminal and for chats alike, and leaves.
extension Session {
  /// Goes on with the agent that has connected. An earlier connection ends.
  package func attach(_ attached: AttachedAgent) async {
    await stopAgent()
    let (connection, slot) = await agent.attach(attached, for: self)
    guard phase.isOpen, beginListening(to: connection, slot: slot) else {
      await slot.release()
      return connection.kill()
    }
    agent.observe(connection, for: self, bridge: attached.bridge)
    do {
      try connection.start()
      let told = try await connection.send(.getState, within: pi.answerTimeout).data(PiState.self)
      learn(told, through: connection)
    } catch {
      logger.warning("pi in the terminal did not tell its state, and is disconnected: \(error)")
      return connection.kill()
    }
    if terminal.returned() { emit(.notice("🔌 pi in the terminal is connected again.")) }
    questions.tryAgain()
    wakes.post(())
  }

  /// How long pi may be away before people are told.
  private static let absenceLimit: Duration = .seconds(60)

  /// The connection of pi in the terminal has ended: a restart of pi is none of people's business.
  func noteAbsence() {
    switch terminal.left() {
    case .farewell(let farewell): tell(of: farewell)
    case .absence(let absence):
      taskScope.add(on: EventLoop.shared) { [self, timeSource = dependencies.timeSource] in
        if await timeSource.sleep(for: Self.absenceLimit) { await tellOfAbsence(absence) }
      }
    }
  }

  /// The person at the terminal ends or leaves the session.
  package func takeFarewell(_ farewell: TerminalPresence.Farewell) {
    if terminal.says(farewell) { tell(of: farewell) }
  }

  private func tell(of farewell: TerminalPresence.Farewell) {
    guard phase.isOpen else { return }
    switch farewell {
    case .ended: emit(.notice("🔌 pi in the terminal has ended. Messages wait until it is back in this session."))
    case .disconnected:
      emit(.notice("🔌 The session was disconnected in its terminal. Messages wait until it is connected again."))
    }
  }

  private func tellOfAbsence(_ absence: Int) {
    guard phase.isOpen, terminal.takeNotice(of: absence) else { return }
    emit(.notice("🔌 pi in the terminal is not connected. Messages wait until it is back."))
  }

  /// Takes the word of the extension about a message: unlike pi itself, it knows what has become of it.
  func take(disposition: PiDisposition.Kind?) {
    guard current.run?.started == false else { return }
    current.run?.isAnswered = true
    // The rest is told by events: the message waits behind the terminal's own run, or begins one.
    if disposition == .handled { current.reportEnd(.ended(current.run?.endWithoutRun ?? .handled)) }
  }

  /// Interrupts a run that the person in the terminal began.
  ///
  /// - Returns: false where the agent does nothing.
  func abortInTerminal() async -> Bool {
    guard isAttached, let connection,
      let state = try? await connection.send(.getState, within: pi.answerTimeout).data(PiState.self),
      state.isStreaming == true
    else { return false }
    return (try? await connection.send(.abort, within: Self.abortLimit).success) ?? false
  }

  /// Has the person's own pi end as with `/quit`: to end its connection is not enough, as it connects again.
  func endInTerminal() async {
    do {
      guard let connection else { throw PiError.ended }
      let answer = try await connection.send(.shutdown, within: pi.answerTimeout)
      if !answer.success { emit(.notice("⚠️ pi in the terminal does not end: \(answer.error ?? "it refused")")) }
    } catch PiError.ended {
      // Its answer may be lost with it.
    } catch {
      emit(.notice("⚠️ pi in the terminal does not end: \(error)"))
    }
  }

  /// Changes the model in the person's own pi, at once.
  ///
  /// - Parameter new: `provider/id`, or an id.
  func useInTerminal(model new: String) async {
    let parts = new.split(separator: "/", maxSplits: 1).map(String.init)
    let command = PiCommand.setModel(provider: parts.count == 2 ? parts[0] : nil, id: parts.last ?? new)
    do {
      guard let connection else { throw PiError.ended }
      let answer = try await connection.send(command, within: pi.answerTimeout)
      guard answer.success else {
        return emit(.notice("⚠️ The model was not changed: \(answer.error ?? "pi refused")"))
      }
      learn(try await connection.send(.getState, within: pi.answerTimeout).data(PiState.self), through: connection)
    } catch {
      emit(.notice("⚠️ The model was not changed: \(error)"))
    }
  }
}
