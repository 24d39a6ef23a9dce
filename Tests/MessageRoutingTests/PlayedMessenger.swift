import FoundationEssentials
import Glibc
import PluginRuntime
import RelayConcurrency
import RelayConfig
import RelayTransport
import RelayWire
import TestSupport

@testable import MessageRouting

/// A messenger whose platform and people the test plays, joined to a router by a socket.
final class PlayedMessenger: Sendable {
  let link: PluginConnection
  let questions = Mailbox<DialogShow>()
  /// The texts in place of questions that are over.
  let closings = Mailbox<String>()
  let notices = Mailbox<String>()
  /// The agent of a conversation has begun to work.
  let begun = Mailbox<String>()
  private let daemon: JSONRPCConnection
  private let plugin: JSONRPCConnection
  private let next = Locked(0)
  /// Tells the ids of this messenger from those that another one has given.
  private let mark = UUID().uuidString

  /// - Parameters:
  ///   - name: `attached/…` is a terminal of this machine.
  ///   - admitsEveryone: otherwise nobody is configured.
  init(_ name: String = "fake/default", admitsEveryone: Bool = true) throws {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw SystemError("socketpair")
    }
    daemon = JSONRPCConnection(input: ends[0], output: fcntl(ends[0], F_DUPFD_CLOEXEC, 3))
    plugin = JSONRPCConnection(input: ends[1], output: fcntl(ends[1], F_DUPFD_CLOEXEC, 3))
    var capabilities = Capabilities.messenger(maximumTextLength: 4_000)
    capabilities.typing = true
    capabilities.buttons = ButtonLimits(rows: 5, perRow: 5, labelLength: 80, idLength: 100)
    var messenger = Config.Messenger(kind: "fake", instance: "default")
    messenger.access.everyone = admitsEveryone
    link = PluginConnection(
      name: name,
      about: InitializeReply(
        protocolVersion: 1, name: name, version: "1", kinds: [.messenger], capabilities: capabilities),
      messenger: messenger, spoolFolder: "/nowhere", isLocal: name.hasPrefix("attached/"), peer: daemon,
      hung: { _ in }, logger: .lines { _ in })
  }

  /// Serves both ends until the messenger leaves.
  func run(_ router: Router) async throws {
    try await serve { [self] in
      await router.received($0, from: link)
    } meanwhile: { [self] in
      await router.connected(link)
    }
    await router.disconnected(link)
  }

  /// Gives the messenger's requests to `receive`, and leaves when `body` has ended.
  func run(
    _ receive: @escaping @Sendable (IncomingRequest) async -> Void, meanwhile body: () async throws -> Void
  ) async throws {
    try await serve(receive) {
      defer { leave() }
      try await body()
    }
  }

  private func serve(
    _ receive: @escaping @Sendable (IncomingRequest) async -> Void, meanwhile body: () async throws -> Void
  ) async throws {
    try daemon.start()
    try plugin.start()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { [self] in for await request in daemon.requests { await receive(request) } }
      group.addTask { [self] in for await request in plugin.requests { answer(request) } }
      try await body()
      try await group.waitForAll()
    }
  }

  func leave() {
    plugin.close()
    daemon.close()
  }

  private func answer(_ request: IncomingRequest) {
    do {
      switch request.method {
      case MessageSend.method:
        let send = try request.params(MessageSend.self)
        if send.role == .notice { notices.post(send.text) }
        request.reply(Receipt(message: number()))
      case DialogShow.method:
        questions.post(try request.params(DialogShow.self))
        request.reply(Receipt(message: number()))
      case DialogClose.method:
        closings.post(try request.params(DialogClose.self).text)
        request.reply(Empty())
      case MessageEdit.method: request.reply(EditReceipt())
      case TypingSet.method:
        let typing = try request.params(TypingSet.self)
        if typing.active { begun.post(typing.conversation) }
        request.reply(Empty())
      default: request.reply(Empty())
      }
    } catch {
      request.fail(WireError(.invalidParams, "\(error)"))
    }
  }

  private func number() -> String {
    next.withLock { number in
      number += 1
      return "\(mark)-\(number)"
    }
  }

  // MARK: - People

  func write(_ text: String, by person: String = "ann", in conversation: String = "c") async throws {
    _ = try await plugin.request(
      MessageReceived(
        id: number(), conversation: Conversation(id: conversation),
        sender: Sender(id: person, name: person.capitalized), text: text), within: .seconds(30))
  }

  func press(_ button: String, by person: String = "ann", in conversation: String = "c") async throws {
    _ = try await plugin.request(
      ActionInvoked(
        id: number(), conversation: Conversation(id: conversation),
        sender: Sender(id: person, name: person.capitalized), action: button), within: .seconds(30))
  }
}

extension DialogShow {
  var labels: [String] { buttons?.joined().map(\.label) ?? [] }

  func button(_ label: String) -> String { buttons?.joined().first { $0.label == label }?.id ?? "" }
}
