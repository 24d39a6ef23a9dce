import CLinux
import Glibc
import Testing

@testable import LiveUpgrade

@Suite struct HandoverTests {
  private let own = Handover.Compatibility(version: "1.0", format: 4, schema: 11, protocols: [1])

  @Test func `a program of the same format takes over, newer tables and protocols included`() {
    #expect(own.obstacle(to: own) == nil)
    #expect(own.obstacle(to: .init(version: "2.0", format: 4, schema: 12, protocols: [1, 2])) == nil)
  }

  @Test(arguments: [
    (Handover.Compatibility(version: "2.0", format: 5, schema: 11, protocols: [1]), "handover format 5, this is 4"),
    (Handover.Compatibility(version: "0.9", format: 4, schema: 10, protocols: [1]), "schema 10, this is 11"),
    (Handover.Compatibility(version: "2.0", format: 4, schema: 11, protocols: [2]), "plugins' protocol"),
  ])
  func `a program that cannot continue is refused with the reason`(new: Handover.Compatibility, reason: String) throws {
    #expect(try #require(own.obstacle(to: new)).contains(reason))
  }

  private func taken(_ text: String) throws -> Handover? {
    let file = relay_memory_file("handover-test")
    let bytes = Array(text.utf8)
    try #require(write(file, bytes, bytes.count) == bytes.count)
    return try Handover.take([Handover.variable: "\(file)"])
  }

  @Test func `a handover of another format is refused by its number, whatever else it holds`() {
    #expect(throws: Handover.Problem("the handover has format 99, and this program reads \(Handover.format)")) {
      try taken(#"{"format":99,"sessions":"unknown"}"#)
    }
    #expect(throws: (any Error).self) { try taken(#"{"format":\#(Handover.format)}"#) }
    #expect(throws: Handover.Problem("\(Handover.variable) is no descriptor")) {
      try Handover.take([Handover.variable: "seven"])
    }
  }

  @Test func `a start without a predecessor takes nothing over`() throws { #expect(try Handover.take([:]) == nil) }
}
