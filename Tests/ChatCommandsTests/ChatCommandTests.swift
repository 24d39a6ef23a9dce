import AgentSessions
import RelayConcurrency
import RelayConfig
import RelayModel
import RelayWire
import SessionCatalog
import Testing

@testable import ChatCommands

/// A conversation without a session that records the calls of a command.
private final class FakeContext: CommandContext {
  struct NoSession: Error {}

  let conversation: Conversation
  let capabilities: Capabilities
  let isLocal: Bool
  let home = "/"
  let beginsByWriting: Bool
  let admitted: [String: String]
  let submitted = Locked<[(String, Config.Busy)]>([])
  let ended = Locked<[String?]>([])
  let opened = Locked<[(NewSession, String)]>([])

  init(
    kind: Conversation.Kind = .dm, threads: Bool = false, isLocal: Bool = false, beginsByWriting: Bool = true,
    admitted: [String: String] = [:]
  ) {
    conversation = Conversation(id: "c", kind: kind)
    var capabilities = Capabilities()
    capabilities.threads = threads
    self.capabilities = capabilities
    self.isLocal = isLocal
    self.beginsByWriting = beginsByWriting
    self.admitted = admitted
  }

  func session() async -> Session? { nil }
  func listing() async -> SessionListing? { nil }
  func awakeSession() async -> Session? { nil }
  func addressableSessions() async -> AddressableSessions { AddressableSessions(from: nil, among: []) }
  func wake(_ listing: SessionListing) async -> Session? { nil }
  func create(_ request: NewSession) async -> Session { fatalError("no test of this context begins a session") }
  func bind(to session: Session) async {}
  func unbind() async {}
  func endPairing(with session: Session) async -> Bool { false }
  func rename(_ session: Session, to name: String) async -> String { name }
  func use(model: String, in session: Session) async {}
  func close(_ session: Session) async {}
  func admittedDirectory(_ path: String) async -> String? { admitted[path] }
  func uncommittedChanges(in directory: String) async -> String? { nil }

  func submit(_ text: String, as mode: Config.Busy) async -> String? {
    submitted.withLock { $0.append((text, mode)) }
    return "given"
  }

  func end(saying text: String?) async { ended.withLock { $0.append(text) } }
  func compact(_ session: Session, keeping instructions: String?) async {}

  func openThread(for request: NewSession, title: String) async throws -> String {
    opened.withLock { $0.append((request, title)) }
    return title
  }
}

/// Commands by themselves, in a conversation that talks to no session.
@Suite struct ChatCommandTests {
  private func run(_ line: String, _ context: FakeContext) async -> String? {
    let message = MessageReceived(
      id: "1", conversation: context.conversation, sender: Sender(id: "u", name: "U"), text: line)
    guard case .command(let command, let arguments) = CommandLineText(message) else { return "not a command" }
    return await command.run(arguments, in: context)
  }

  @Test func `every name and alias belongs to one command`() {
    let names = CommandRegistry.all.flatMap { [$0.name] + $0.aliases }
    #expect(Set(names).count == names.count)
    for command in CommandRegistry.all {
      #expect(CommandRegistry.command(command.name.uppercased())?.name == command.name)
    }
    #expect(CommandRegistry.menu.map(\.name) == names)
  }

  @Test(arguments: ["/status", "/stop", "/model x", "/name x", "/close"])
  func `commands that need a session say how to get one`(_ line: String) async {
    #expect(
      await run(line, FakeContext())
        == "There is no session here yet. Write something to begin one, or /sessions and /use.")
    #expect(await run(line, FakeContext(beginsByWriting: false))?.hasSuffix(SessionMenu.advice) == true)
  }

  @Test(arguments: [("/steer go on", Config.Busy.steer), ("/followup go on", .followUp)])
  func `text for the agent is submitted, and its command message ends with it`(_ line: String, mode: Config.Busy) async
  {
    let context = FakeContext()
    #expect(await run(line, context) == "given")
    #expect(context.submitted.withLock { $0.map(\.0) } == ["go on"])
    #expect(context.submitted.withLock { $0.map(\.1) } == [mode])
    #expect(context.ended.withLock { $0.isEmpty })
  }

  @Test(arguments: ["/steer", "/followup", "/compact"])
  func `a command that ends its own message does so also without a prompt`(_ line: String) async {
    let context = FakeContext()
    #expect(await run(line, context) == nil)
    #expect(context.ended.withLock { $0.count } == 1)
    #expect(context.submitted.withLock { $0.isEmpty })
  }

  @Test func `a thread is opened in a channel only, under the session's name or its folder's`() async {
    #expect(await run("/spawn x", FakeContext(threads: true))?.contains("only in a channel") == true)
    #expect(await run("/spawn x", FakeContext(kind: .channel))?.contains("only in a channel") == true)
    let channel = FakeContext(kind: .channel, threads: true, admitted: ["/code/app": "/srv/app"])
    #expect(await run("/spawn --in /code/app -- fix it", channel) == "Opened app.")
    #expect(await run("/spawn two words", channel) == "Opened two words.")
    let opened = channel.opened.withLock { $0.map(\.0) }
    #expect(opened.map(\.folder) == ["/srv/app", nil])
    #expect(opened.map(\.task) == ["fix it", nil])
  }

  @Test func `a folder that is not allowed is refused alike whether it exists or not`() async {
    let channel = FakeContext(kind: .channel, threads: true)
    let (there, absent) = (await run("/spawn --in /etc", channel), await run("/spawn --in /absent", channel))
    #expect(there?.replacing("/etc", with: "/absent") == absent)
    #expect(absent?.contains("sessions.roots") == true)
    #expect(channel.opened.withLock { $0.isEmpty })
  }

  @Test func `forwarded text and paths are not commands`() async {
    let context = FakeContext()
    var message = MessageReceived(
      id: "1", conversation: context.conversation, sender: Sender(id: "u", name: "U"), text: "/stop")
    #expect(!CommandLineText(message).isWords)
    message.forwarded = true
    #expect(CommandLineText(message).isWords)
    #expect(await run("/etc/passwd", context) == "not a command")
    #expect(await run("/unknown", context) == "not a command")
  }

  @Test func `a message keeps the part that is meant for the agent`() {
    func prompt(_ text: String) -> String? {
      CommandLineText.prompt(
        of: MessageReceived(
          id: "1", conversation: Conversation(id: "c"), sender: Sender(id: "u", name: "U"), text: text))?.text
    }
    #expect(prompt("hello") == "hello")
    #expect(prompt("/steer hello there") == "hello there")
    #expect(prompt("/stop") == nil)
    #expect(prompt("/skill:x hello") == "/skill:x hello")
  }
}
