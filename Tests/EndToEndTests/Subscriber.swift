import CLinux
import ControlServer
import Glibc
import RelayConcurrency
import RelayHome
import RelayJSON
import RelayModel
import RelayTransport
import RelayWire
import TestSupport
import Testing

@testable import RelayStore

/// A program that is told the events of a session.
final class Subscriber: Sendable {
  let events = Lines()
  let connection: JSONRPCConnection

  init(_ relay: RelayFixture) throws {
    let descriptor = relay_connect_unix(relay.home.socket)
    guard descriptor >= 0 else { throw SystemError("connect", code: -descriptor) }
    connection = JSONRPCConnection(
      input: descriptor, output: fcntl(descriptor, F_DUPFD_CLOEXEC, 3),
      notified: { [events] method, line in
        guard method == ControlNotification.sessionEvent else { return }
        events.add(String(decoding: line, as: UTF8.self))
      })
    try connection.start()
  }

  /// The events so far, each as its kind.
  var kinds: [String] {
    events.all.compactMap { line in
      try? JSONCoding.decode(JSONValue.self, from: Array(line.utf8))["params"]?["event"]?.stringValue
    }
  }

  func wait(for text: String) async { await events.wait { $0.contains { $0.contains(text) } } }
}

extension RelayFixture {
  /// A session that has been given "hello" by a person.
  func talk() async throws -> SessionStatus {
    try await messenger.say("hello", id: "1")
    #expect(await messenger.waitForOutcome(of: "1") == .answered)
    return try #require(try await ask(SessionListRequest()).sessions.first)
  }

  /// Waits until the message of a program has come so far.
  func waitForStage(_ stage: MessageStage, of id: String, in session: SessionStatus) async throws {
    let key = MessageKey(
      conversation: ConversationKey(instance: ConversationKey.programs, conversation: session.id),
      id: MessageOrigin.program(id).id)
    try await waitForStore { try await $0.stage(of: key) == stage }
  }

  /// The number of messages in the first conversation with this text.
  func count(_ text: String) async -> Int { await messenger.texts().count { $0.contains(text) } }
}
