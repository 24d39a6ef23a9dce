import RelayConcurrency
import RelayJSON
import RelayWire
import Testing

@testable import Discord
@testable import DiscordAPI

/// Discord's interface, which answers the registration of commands in a server only when it is told to.
private final class HesitantInterface: Sendable {
  let arrivals = Mailbox<Void>()
  let releases = Mailbox<Void>()
  private let registered = Locked<[JSONValue]>([])

  /// The names of the commands in each registration, in order.
  var names: [String] {
    registered.withLock { $0 }.map { menu in
      guard case .array(let commands) = menu else { return "" }
      return commands.compactMap { $0["name"]?.stringValue }.joined(separator: " ")
    }
  }

  func answer(_ route: Route, _ body: JSONValue?) async -> JSONValue {
    if route == .application { return ["id": "1"] }
    guard route.method == "PUT", route.path.contains("/guilds/"), let body else { return [] }
    registered.withLock { $0.append(body) }
    arrivals.post(())
    _ = await releases.next()
    return []
  }
}

@Suite(.timeLimit(.minutes(1))) struct CommandMenuTests {
  @Test func `a server gets the new commands when they change while the earlier ones are registered`() async throws {
    let interface = HesitantInterface()
    let settings = try DiscordSettings(checked: ["token": "t"])
    let rest = RESTClient(.init(base: "http://127.0.0.1:1", token: "t", proxy: nil))
    let menu = CommandMenu(
      asking: { await interface.answer($0, $1) }, Channels(settings, heard: [], rest), log: { _ in })
    await menu.set([.init(name: "earlier", summary: "s")])
    async let joined: Void = menu.joined("1")
    _ = await interface.arrivals.next()
    await menu.set([.init(name: "new", summary: "s")])
    for _ in 0..<2 { interface.releases.post(()) }
    await joined
    // The server is registered by now, or this registers it.
    await menu.joined("1")
    #expect(interface.names == ["earlier", "new"])
  }
}
