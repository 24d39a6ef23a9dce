internal import ConversationSessions
internal import Conversations
internal import MessageDelivery
internal import Pairings
internal import PluginRuntime
internal import RelayConcurrency
internal import RelayConfig
internal import RelayHome
internal import RelayModel
internal import SessionCatalog

/// The conversations, their outputs, and the sessions that they talk to.
struct ConversationRouting: Sendable {
  let checkpoints: StreamCheckpoints
  let directory: ConversationDirectory
  let subscriptions: SessionSubscriptions
  let bindings: SessionBindings
  let people: PairedPeople

  init(_ dependencies: Router.Dependencies, questions: QuestionRegistry, taskScope: TaskScope) {
    let (store, logger) = (dependencies.store, dependencies.logger)
    people = PairedPeople(store: store)
    checkpoints = StreamCheckpoints(folder: dependencies.home.streams, logger: logger)
    directory = ConversationDirectory(
      store: store, services: dependencies.services, timeSource: dependencies.timeSource,
      deliveries: dependencies.deliveries, redaction: dependencies.redaction, checkpoints: checkpoints,
      taskScope: taskScope, logger: logger,
      mayReceive: { [people] key, link in
        people.rights(in: key) { link.messenger?.access.admits($0) ?? false } != .revoked
      })
    subscriptions = SessionSubscriptions(questions: questions, timeSource: dependencies.timeSource) { [directory] in
      directory.post($0, to: $1)
    }
    bindings = SessionBindings(
      store: store, sessions: dependencies.sessions, directory: directory, people: people,
      subscriptions: subscriptions, logger: logger)
  }
}
