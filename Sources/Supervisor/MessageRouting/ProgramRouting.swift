internal import ConversationSessions
internal import Conversations
package import ProgramSessions
internal import RelayConcurrency

/// The ways to sessions of everything that is no messenger: programs, agents, and pi in terminals.
package struct ProgramRouting: Sendable {
  let gate = ProgramGate()
  let messages: ProgramMessages
  let recovery: ProgramRecovery
  /// For programs that are no messengers.
  package let commands: SessionCommands
  /// The sessions whose agents people run in terminals.
  package let attachments: AttachedSessions
  /// The way from an agent to the person whose message it works on.
  package let requesters: RequesterChannel

  /// - Parameter isDraining: the daemon takes no new messages.
  init(
    _ dependencies: Router.Dependencies, _ conversations: ConversationRouting, prompts: PromptRouter,
    threads: ThreadSessions, questions: QuestionRegistry, taskScope: TaskScope,
    isDraining: @escaping @Sendable () -> Bool
  ) {
    let (store, sessions, logger) = (dependencies.store, dependencies.sessions, dependencies.logger)
    let (directory, bindings) = (conversations.directory, conversations.bindings)
    let files = ProgramFiles(home: dependencies.home)
    messages = ProgramMessages(store: store, prompts: prompts, isDraining: isDraining, files: files, logger: logger)
    recovery = ProgramRecovery(
      store: store, sessions: sessions, directory: directory, subscriptions: conversations.subscriptions,
      prompts: prompts, messages: messages, files: files, redaction: dependencies.redaction, logger: logger)
    commands = SessionCommands(
      sessions: sessions, bindings: bindings, subscriptions: conversations.subscriptions, questions: questions,
      prompts: prompts, messages: messages, gate: gate, taskScope: taskScope, timeSource: dependencies.timeSource)
    attachments = AttachedSessions(
      store: store, sessions: sessions, bindings: bindings, directory: directory, prompts: prompts, logger: logger)
    requesters = RequesterChannel(
      store: store, sessions: sessions, bindings: bindings, directory: directory, threads: threads, logger: logger)
  }
}
