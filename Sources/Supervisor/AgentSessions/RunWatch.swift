internal import AgentRuntime
internal import Glibc
internal import Logging
internal import PiRPC
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayConfig
internal import RelayModel
internal import RelayTransport
internal import RelayWire
internal import SessionStates

/// Watches one run until `close` is called: the time that the run may take, an agent that says nothing, and an agent that neither
/// begins a run nor answers.
struct RunWatch: Sendable {
  private let generation: CurrentWork.Generation
  private let context: SessionContext
  private let timeWatch = Mailbox<Void>()
  private let silenceWatch = Mailbox<Void>()
  private let startWatch = Mailbox<Void>()

  /// How long pi may take to answer whether its process still answers at all.
  private static let livenessLimit: Duration = .seconds(5)

  private var clock: any Clock<Duration> { context.dependencies.timeSource.clock }

  init(_ session: isolated Session) {
    generation = session.current.generation
    context = session.context
    watchTime(session)
    watchSilence(session)
  }

  func close() { for watch in [timeWatch, silenceWatch, startWatch] { watch.close() } }

  // MARK: - Time

  private func watchTime(_ session: isolated Session) {
    guard let limit = context.settings.callTimeout,
      let left = session.current.run?.timeLeft(of: limit, now: context.dependencies.timeSource.now())
    else {
      return
    }
    context.taskScope.add(on: EventLoop.shared) { [self] in
      do {
        try await withDeadline(left, clock: clock) { _ = await timeWatch.next() }
      } catch {
        await noteTimeout(session, limit)
      }
    }
  }

  private func noteTimeout(_ session: isolated Session, _ limit: Duration) async {
    guard let run = session.current.run(generation) else { return }
    context.emit(.timedOut(run.prompt.key, after: limit))
    _ = await session.abort()
  }

  // MARK: - Start

  /// Ends a pi that neither begins a run nor answers, unless it waits for a person.
  func watchStart(of connection: PiConnection, _ session: Session) {
    context.taskScope.add(on: EventLoop.shared) { [self] in
      let limit = context.pi.answerTimeout
      repeat {
        do {
          try await withDeadline(limit, clock: clock) { _ = await startWatch.next() }
          return
        } catch is CancellationError {
          return
        } catch {
          // The time is over, the run is not.
        }
      } while await mayStillStart(session, connection, limit)
    }
  }

  private func mayStillStart(_ session: isolated Session, _ connection: PiConnection, _ limit: Duration) -> Bool {
    guard let run = session.current.run(generation), !run.started else { return false }
    guard !session.questions.hasDialogs, !run.isAnswered else { return true }
    session.logger.warning("pi took no message within \(limit.forPeople) and is ended")
    connection.kill()
    return false
  }

  // MARK: - Silence

  // Only the person can tell a process that hangs or was stopped from a command that takes long, so the person is asked.
  private func watchSilence(_ session: Session) {
    guard let limit = context.settings.silenceTimeout else { return }
    context.taskScope.add(on: EventLoop.shared) { [self] in
      var wait = limit
      while true {
        do {
          try await withDeadline(wait, clock: clock) { _ = await silenceWatch.next() }
          return
        } catch is DeadlineExceeded {
          wait = await noteSilence(session, limit)
        } catch {
          return
        }
      }
    }
  }

  /// - Returns: how long to wait before looking again.
  private func noteSilence(_ session: isolated Session, _ limit: Duration) async -> Duration {
    guard let run = session.current.run(generation), !run.aborting, let connection = session.connection else {
      return limit
    }
    let silence = connection.silence
    guard silence >= limit else { return limit - silence }
    // The agent waits for an answer itself.
    guard session.questions.isEmpty else { return limit }
    let answers = await isAnswering(connection)
    guard session.current.run(generation)?.aborting == false, session.connection === connection else { return limit }
    await askAboutSilence(session, of: connection, silence, answers: answers)
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
    _ session: isolated Session, of connection: PiConnection, _ silence: Duration, answers: Bool
  ) async {
    let id = session.questions.nextID()
    connection.onNextOutput { [weak session, taskScope = context.taskScope] in
      guard let session else { return }
      taskScope.add(on: EventLoop.shared) {
        await session.run { $0.questions.withdrawOwn(id, "the agent goes on") }
      }
    }
    let why =
      answers
      ? "Its process answers, so it may be at work on something long." : "Its process does not answer, either."
    let answer = await session.questions.ask(
      .silence, "The agent has said nothing for \(silence.forPeople).",
      details: "\(why) Nothing is done unless you choose.", id: id, about: session.current.run?.prompt.key,
      for: session)
    // The run may have ended by itself, and the next begun, while the answer was on its way.
    guard session.current.run(generation) != nil, session.connection === connection else { return }
    switch answer {
    case .silence(.wait), .message, .approval, nil: break
    case .silence(.stopRun): _ = await session.abort()
    case .silence(.restartAgent): connection.kill()
    }
  }
}
