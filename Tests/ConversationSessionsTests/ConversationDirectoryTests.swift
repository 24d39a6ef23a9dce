import ContentServices
import Conversations
import Glibc
import MessageDelivery
import PluginRuntime
import RelayConcurrency
import RelayConfig
import RelayHome
import RelayModel
import RelayStore
import RelayText
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import ConversationSessions

/// Conversations that an earlier daemon knew: each gets its output when something concerns it.
@Suite(.timeLimit(.minutes(1))) struct ConversationDirectoryTests {
  private static let instance = "fake/default"
  private static let timeSource = TimeSource(clock: ContinuousClock())

  private func key(_ conversation: String) -> ConversationKey {
    ConversationKey(instance: Self.instance, conversation: conversation)
  }

  /// The connection of a messenger that never answers.
  private func link() throws -> PluginConnection {
    let descriptor = open("/dev/null", O_RDWR | O_CLOEXEC)
    let peer = JSONRPCConnection(input: descriptor, output: fcntl(descriptor, F_DUPFD_CLOEXEC, 3))
    let about = InitializeReply(
      protocolVersion: 1, name: "fake", version: "1", kinds: [.messenger], capabilities: Capabilities())
    return PluginConnection(
      name: Self.instance, about: about, messenger: Config.Messenger(kind: "fake", instance: "default"),
      spoolFolder: "/nowhere", isLocal: false, peer: peer, hung: { _ in }, logger: .lines { _ in })
  }

  private func withStore(_ body: (SQLiteStore, HomeDirectory) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    let home = HomeDirectory(path: folder.path + "/home")
    try home.prepare()
    let store = try SQLiteStore(path: home.database)
    try await body(store, home)
    await store.close()
  }

  private func directory(_ store: SQLiteStore, _ home: HomeDirectory) -> ConversationDirectory {
    ConversationDirectory(
      store: store, services: Services(home: home, clock: Self.timeSource.clock, logger: .lines { _ in }),
      timeSource: Self.timeSource, deliveries: Config().delivery, redaction: Redactor([]),
      checkpoints: StreamCheckpoints(folder: home.streams, logger: .lines { _ in }), taskScope: TaskScope(),
      logger: .lines { _ in })
  }

  @Test func `a conversation has its output from the first message that it is shown`() async throws {
    try await withStore { store, home in
      let (directory, link) = (directory(store, home), try link())
      directory.connected(link)
      let conversation = Conversation(id: "c1", kind: .channel, title: "General")
      directory.remember(key("c1"), conversation, link)
      #expect(directory.all.isEmpty && directory.conversation(key("c1")) == conversation)
      directory.post(.detached, to: key("unknown"))
      #expect(directory.all.isEmpty)
      // Its messenger may be away at that moment.
      directory.disconnected(link)
      directory.post(.detached, to: key("c1"))
      #expect(directory.all.keys.map(\.conversation) == ["c1"])
      #expect(directory.conversation(key("c1")) == conversation)
      let output = directory[key("c1")]?.output
      directory.post(.detached, to: key("c1"))
      #expect(output != nil && directory[key("c1")]?.output === output)
    }
  }

  @Test func `the output of a conversation ends with its messenger`() async throws {
    try await withStore { store, home in
      let (directory, link) = (directory(store, home), try link())
      directory.connected(link)
      directory.remember(key("c1"), Conversation(id: "c1"), link)
      #expect(directory.remove(instance: link.name) == nil)
      directory.disconnected(link)
      #expect(directory.remove(instance: link.name) == [key("c1")])
      directory.post(.detached, to: key("c1"))
      #expect(directory.all.isEmpty && directory.conversation(key("c1")) == nil)
    }
  }
}
