internal import AgentRuntime
internal import Glibc
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayTransport
internal import RelayWire
internal import SessionStates

// An agent that says nothing in the middle of a run, because its process hangs or was stopped, or a command of it takes
// long: nobody but the person can tell, so the person is asked.
extension Session {
  /// How long pi may take to answer whether its process still answers at all.
  private static let livenessLimit: Duration = .seconds(5)

  /// Watches a run until `over` is closed.
  func watchSilence(_ generation: Generation, _ over: Mailbox<Void>) {
    guard let limit = settings.silenceTimeout else { return }
    taskScope.add(on: EventLoop.shared) { [self, timeSource = dependencies.timeSource] in
      var wait = limit
      while true {
        do {
          try await withDeadline(wait, clock: timeSource.clock) { _ = await over.next() }
          return
        } catch is DeadlineExceeded {
          wait = await noteSilence(generation, limit)
        } catch {
          return
        }
      }
    }
  }

  /// - Returns: how long to wait before looking again.
  private func noteSilence(_ generation: Generation, _ limit: Duration) async -> Duration {
    guard let run = current.run(generation), !run.aborting, let connection else { return limit }
    let silence = connection.silence
    guard silence >= limit else { return limit - silence }
    // The agent waits for an answer itself.
    guard questions.isEmpty else { return limit }
    let answers = await isAnswering(connection)
    guard current.run(generation)?.aborting == false, self.connection === connection else { return limit }
    await askAboutSilence(of: connection, silence, answers: answers, generation)
    return limit
  }

  private func isAnswering(_ connection: PiConnection) async -> Bool {
    do {
      _ = try await connection.send(.getState, within: Self.livenessLimit)
      return true
    } catch {
      return false
    }
  }

  private func askAboutSilence(
    of connection: PiConnection, _ silence: Duration, answers: Bool, _ generation: Generation
  ) async {
    let id = questions.nextID()
    connection.onNextOutput { [weak self] in
      guard let self else { return }
      taskScope.add(on: EventLoop.shared) { [self] in await withdrawQuestion(id, "the agent goes on") }
    }
    let why =
      answers
      ? "Its process answers, so it may be at work on something long." : "Its process does not answer, either."
    let question = "The agent has said nothing for \(silence.forPeople)."
    let details = "\(why) Nothing is done unless you choose."
    let answer = await ask(.silence, question, details: details, id: id)
    // The run may have ended by itself, and the next begun, while the answer was on its way.
    guard current.run(generation) != nil, self.connection === connection else { return }
    switch answer {
    case .silence(.wait), .message, nil: break
    case .silence(.stopRun): _ = await abort()
    case .silence(.restartAgent): connection.child.signal(SIGKILL)
    }
  }
}
