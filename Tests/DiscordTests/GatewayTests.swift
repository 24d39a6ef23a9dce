import MessengerKit
import RelayJSON
import RelayWire
import Testing

@testable import Discord
@testable import DiscordAPI

@Suite struct GatewayInflaterTests {
  /// `{"op":10}` and `{"op":11,"d":null}` as one zlib stream, flushed after each.
  private let first: [UInt8] = [
    0x78, 0x9C, 0xAA, 0x56, 0xCA, 0x2F, 0x50, 0xB2, 0x32, 0x34, 0xA8, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF,
  ]

  @Test func `a message is complete at its flush, however the frames are divided`() throws {
    let inflater = GatewayInflater()
    #expect(try inflater.take(Array(first.prefix(5))) == nil)
    #expect(try inflater.take(Array(first.dropFirst(5))) == Array(#"{"op":10}"#.utf8))
  }

  @Test func `a broken stream, or one that inflates without end, is reported`() {
    #expect(throws: GatewayInflater.Failure.self) { try GatewayInflater().take([1, 2, 3, 0, 0, 0xFF, 0xFF]) }
    #expect(throws: GatewayInflater.Failure.tooLarge(limit: 5)) { try GatewayInflater(maximumBytes: 5).take(first) }
    #expect(throws: GatewayInflater.Failure.tooLarge(limit: 8)) {
      let inflater = GatewayInflater(maximumBytes: 8)
      _ = try inflater.take(Array(first.prefix(8)))
      _ = try inflater.take(Array(first.dropFirst(8)))
    }
  }
}

@Suite struct GatewayRulesTests {
  @Test(arguments: [4004, 4010, 4011, 4012, 4013, 4014])
  func `a close code that a person has to act on is not tried again`(code: Int) {
    guard case .fatal = GatewayEnding(closedWith: code) else {
      Issue.record("\(code) is tried again")
      return
    }
  }

  @Test(arguments: [nil, 1006, 4000, 4001, 4002, 4003, 4005, 4008, 9999])
  func `other close codes lead to a resume`(code: Int?) { #expect(GatewayEnding(closedWith: code) == .resume) }

  @Test(arguments: [1000, 1001, 4007, 4009])
  func `close codes that end the session lead to a new session`(code: Int) {
    #expect(GatewayEnding(closedWith: code) == .identify)
  }

  @Test func `only what a person can resolve is told at once, and a lost session is begun anew after 1 to 5 seconds`() {
    for ending in [GatewayEnding.resume, .identify] {
      let told = ending.connectionEnding(random: 1)
      #expect(!told.isRefusal && told.grace == .seconds(60) && told.minimumPause == .zero)
    }
    let pauses = [0, 1].map { GatewayEnding.identifyLater.connectionEnding(random: $0).minimumPause }
    #expect(pauses == [.seconds(1), .seconds(5)])
    #expect(GatewayEnding.fatal("no").connectionEnding(random: 0) == ConnectionEnding("no", isRefusal: true))
  }

  @Test func `payloads are read, and unknown ones are accepted`() throws {
    let payload = try GatewayPayload.read(Array(#"{"op":0,"s":7,"t":"READY","d":{"session_id":"x"}}"#.utf8))
    #expect(payload.operation == .dispatch && payload.sequence == 7 && payload.event == "READY")
    #expect(payload.data?["session_id"] == "x")
    #expect(try GatewayPayload.read(Array(#"{"op":99,"d":null,"s":null,"t":null}"#.utf8)).operation == nil)
    #expect(GatewayPayload.text(.heartbeat, .null).count > 0)
  }
}
