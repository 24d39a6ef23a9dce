internal import ConversationSessions
internal import Conversations
internal import MessageDelivery
internal import RelayConcurrency
internal import RelayHome
internal import RelayModel

/// The conversations, their outputs, and the sessions that they talk to.
struct ConversationRouting: Sendable {
  let checkpoints: StreamCheckpoints
  let directory: ConversationDirectory
  let subscriptions: SessionSubscriptions
  let bindings: SessionBindings

  init(_ dependencies: Router.Dependencies, questions: QuestionRegistry, taskScope: TaskScope) {
    let (store, logger) = (dependencies.store, dependencies.logger)
    checkpoints = StreamCheckpoints(folder: dependencies.home.streams, logger: logger)
    directory = ConversationDirectory(
      store: store, services: dependencies.services, timeSource: dependencies.timeSource,
      deliveries: dependencies.deliveries, redaction: dependencies.redaction, checkpoints: checkpoints,
      taskScope: taskScope, logger: logger)
    subscriptions = SessionSubscriptions(questions: questions, timeSource: dependencies.timeSource) { [directory] in
      directory.post($0, to: $1)
    }
    bindings = SessionBindings(
      store: store, sessions: dependencies.sessions, directory: directory, subscriptions: subscriptions, logger: logger)
  }
}
