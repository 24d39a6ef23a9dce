import PluginSDK
import PluginTestKit
import Testing

/// A messenger that sends one message by itself and returns every text that it has to send.
private struct Parrot: Plugin {
  static let name = "parrot"

  private struct Settings: Decodable {
    var greeting: String
  }

  private let host: Host
  private let greeting: String
  let capabilities = Capabilities.messenger(maximumTextLength: 100)

  init(_ host: Host) throws {
    greeting = try host.config(as: Settings.self).greeting
    self.host = host
  }

  static func check(_ request: CheckRequest) async throws -> [CheckRequest.Finding] {
    let greeting = try request.config.settings(as: Settings.self).greeting
    if greeting == "bad" {
      throw ConfigurationProblems([.init(path: "a", message: "x"), .init(path: "b", message: "y")])
    }
    if greeting == "fail" { throw DeliveryFailure.transient("the platform is gone") }
    return [.init(true, "it says \(greeting)")]
  }

  func run() async throws {
    if greeting == "fail" { throw WireError(.internalError, "the platform is gone") }
    try await host.received(
      MessageReceived(
        id: "1", conversation: Conversation(id: "c"), sender: Sender(id: "u", name: "U"), text: greeting))
    try await host.save(state: ["said": .string(greeting)])
  }

  func send(_ request: MessageSend) async throws -> Receipt {
    if request.text == "too fast" { throw DeliveryFailure.rateLimited(retryAfter: 2) }
    return Receipt(message: "sent:\(request.text)")
  }
}

/// Waits in its set-up for something that does not come.
private struct Waiter: Plugin {
  static let name = "waiter"
  static let begun = AsyncStream<Void>.makeStream()

  let capabilities = Capabilities()

  init(_ host: Host) {}

  static func setUp(_ dialogue: SetupDialogue, known: JSONValue) async throws -> SetupReply {
    begun.continuation.yield()
    try await Task.sleep(for: .seconds(3_600))
    return SetupReply(settings: [:], secrets: [:], users: [])
  }
}

/// Not well before it has connected.
private struct Connecting: Plugin {
  static let name = "connecting"
  private let host: Host
  let capabilities = Capabilities.messenger(maximumTextLength: 100)

  init(_ host: Host) async throws {
    self.host = host
    try await host.report(problem: "not connected yet")
  }

  func run() async throws {
    try await host.report(problem: nil)
    try await host.save(state: "connected")
  }
}

@Suite(.timeLimit(.minutes(1))) struct PluginTests {
  @Test func `a problem that is reported in init is sent with the answer to initialize, a later one by itself`()
    async throws
  {
    let harness = try PluginHarness<Connecting>()
    #expect(try await harness.start().problem == "not connected yet")
    for await state in harness.saved {
      #expect(state == "connected")
      break
    }
    await harness.stop()
  }

  @Test func `a set-up that waits ends when the caller has left`() async throws {
    let harness = try PluginHarness<Waiter>()
    let asking = Task { try await harness.request(SetupRequest(config: [:])) }
    for await _ in Waiter.begun.stream { break }
    await harness.stop()
    #expect(await asking.result.isFailure)
  }

  @Test func `every message of a messenger can be created outside the package`() {
    let (place, person) = (Conversation(id: "c"), Sender(id: "u", name: "U"))
    let requests: [any WireRequest] = [
      MessageEdited(id: "1", conversation: place, sender: person, text: "t"),
      MessageDeleted(id: "1", conversation: place),
      CommandInvoked(id: "1", conversation: place, sender: person, name: "n"),
      ActionInvoked(id: "1", conversation: place, sender: person, action: "a"),
      ConversationClosed(conversation: place), ConversationReopened(conversation: place),
      ReactionAdded(conversation: place, sender: person, message: "1", reaction: "👍"),
    ]
    #expect(requests.map { type(of: $0).method }.count == 7)
  }

  @Test func `a plugin shakes hands, hands over, stores, sends and leaves`() async throws {
    let harness = try PluginHarness<Parrot>(config: ["greeting": "hello"])
    let about = try await harness.start()
    #expect(about.name == "parrot" && about.kinds == [.messenger] && about.protocolVersion == 1)
    var messages = harness.received.makeAsyncIterator()
    #expect(await messages.next()?.text == "hello")
    var states = harness.saved.makeAsyncIterator()
    #expect(await states.next() == ["said": "hello"])
    let receipt = try await harness.request(MessageSend(key: "k", conversation: "c", text: "hi"))
    #expect(receipt.message == "sent:hi")
    await harness.stop()
  }

  @Test func `a missing setting is named by its path`() async throws {
    let harness = try PluginHarness<Parrot>()
    await #expect(
      throws: WireError(
        .configuration, "the configuration is not usable", data: [["path": "greeting", "message": "is missing"]])
    ) { try await harness.start() }
    await harness.stop()
  }

  @Test(
    arguments: [
      (["greeting": "hi"], [.init(true, "it says hi")]), ([:], [.init(false, "greeting is missing")]),
      (["greeting": "bad"], [.init(false, "a x"), .init(false, "b y")]),
      (["greeting": "fail"], [.init(false, "\(DeliveryFailure.transient("the platform is gone"))")]),
    ] as [(JSONValue, [CheckRequest.Finding])])
  func `a failed check is a finding, and each faulty setting one of its own`(
    config: JSONValue, findings: [CheckRequest.Finding]
  ) async throws {
    let harness = try PluginHarness<Parrot>()
    #expect(try await harness.request(CheckRequest(config: config)).findings == findings)
    await harness.stop()
  }

  @Test func `failures keep their kind, and an unimplemented method says so`() async throws {
    let harness = try PluginHarness<Parrot>(config: ["greeting": "x"])
    _ = try await harness.start()
    await #expect(throws: DeliveryFailure.rateLimited(retryAfter: 2)) {
      try await harness.request(MessageSend(key: "k", conversation: "c", text: "too fast"))
    }
    await #expect(throws: WireError(.methodNotFound, "parrot does not do message.edit")) {
      try await harness.request(MessageEdit(conversation: "c", message: "m", text: "t"))
    }
    await harness.stop()
  }

  @Test func `a plugin whose own work fails ends its connection`() async throws {
    let harness = try PluginHarness<Parrot>(config: ["greeting": "fail"])
    _ = try await harness.start()
    // The connection ends by itself: nothing is received any more.
    for await _ in harness.received {}
    await harness.stop()
  }
}

extension Result {
  fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}

@Suite struct SetOnceTests {
  @Test func `the first value stays`() {
    let name = SetOnce<String>()
    #expect(name.value == nil)
    name.set("first")
    name.set("second")
    #expect(name.value == "first")
  }
}
