import MessengerKit
import RelayJSON
import Testing

@testable import Discord
@testable import DiscordAPI

@Suite struct DiscordProgressTests {
  private func session(_ sequence: Int) throws -> GatewaySession {
    let ready: JSONValue = ["session_id": "s", "resume_gateway_url": "wss://x"]
    return try #require(GatewaySession(ready: ready, sequence: sequence))
  }

  @Test func `no session is kept for a resume before everything missed has been fetched in every server`() throws {
    var progress = DiscordProgress(DiscordState(["seen": [["a", "6"]]]))
    progress.saw(try session(1))
    progress.beganSession(servers: ["x", "y"])
    #expect(!progress.endCatchingUp() && !progress.met("x") && !progress.met("x") && !progress.isCaughtUp)
    progress.state.seen.saw("9", in: "a")
    #expect(progress.known.seen["a"] == "6")
    #expect(progress.storable()["gateway"] == nil)
    #expect(progress.met("y") && progress.isCaughtUp)
    #expect(progress.storable()["gateway"] != nil && progress.known.seen["a"] == "9")
  }

  @Test func `messages in progress are delivered again after a restart`() throws {
    var progress = DiscordProgress(DiscordState(nil))
    for number in 1...5 { progress.saw(try session(number)) }
    progress.position.begin(4)
    #expect(DiscordState(progress.storable()).gateway?.sequence == 3)
    progress.position.finish(4)
    #expect(DiscordState(progress.storable()).gateway?.sequence == 5)
  }
}
