import ControlServer
import RelayJSON
import RelayModel
import RelayWire
import Testing

/// docs/control-socket.md against the code.
@Suite struct ControlSocketTests {
  private static let requests: [any WireRequest.Type] = [
    SessionListRequest.self, SessionStatusRequest.self, SessionQuestionsRequest.self, ProgramPrompt.self,
    SessionSteerRequest.self, SessionAbortRequest.self, SessionAnswerRequest.self, SessionCreateRequest.self,
    SessionRenameRequest.self, SessionModelRequest.self, SessionCompactRequest.self, SessionCloseRequest.self,
    SessionSubscribeRequest.self, SessionUnsubscribeRequest.self, PairingBeginRequest.self, PairingWaitRequest.self,
    PairingDecideRequest.self, PairingListRequest.self, PairingRevokeRequest.self, PairingUntrustRequest.self,
  ]

  private func params<Request: WireRequest>(_ type: Request.Type, _ line: [UInt8]) throws -> JSONValue {
    try Self.value(JSONCoding.decode(ParamsOf<Request>.self, from: line).params)
  }

  private func result<Request: WireRequest>(_ type: Request.Type, _ line: [UInt8]) throws -> JSONValue {
    try Self.value(JSONCoding.decode(ResultOf<Request.Reply>.self, from: line).result)
  }

  private static func value(_ value: some Encodable) throws -> JSONValue {
    try JSONCoding.decode(JSONValue.self, from: JSONCoding.encode(value))
  }

  @Test func `every example is what the code reads and writes, member for member`() throws {
    var asked: [JSONValue: any WireRequest.Type] = [:]
    var answered: Set<String> = []
    for line in try document("docs/control-socket.md").split(separator: "\n") where line.hasPrefix("{\"jsonrpc\"") {
      let bytes = Array(line.utf8)
      let example = try JSONCoding.decode(JSONValue.self, from: bytes)
      switch (example["id"], example["method"]?.stringValue) {
      case (let id?, let method?):
        let type = try #require(Self.requests.first { $0.method == method }, "\(method) is not known")
        #expect(try params(type, bytes) == example["params"], "\(method)")
        asked[id] = type
      case (let id?, nil):
        let type: any WireRequest.Type = try #require(asked[id])
        #expect(try result(type, bytes) == example["result"], "\(type.method)")
        answered.insert(type.method)
      case (nil, ControlNotification.sessionEvent):
        let report = try JSONCoding.decode(SessionReport.self, from: JSONCoding.encode(example["params"] ?? .null))
        #expect(try Self.value(report) == example["params"])
      case (nil, ControlNotification.closing):
        let closing = try JSONCoding.decode(
          ControlNotification.Closing.self, from: JSONCoding.encode(example["params"] ?? .null))
        #expect(try Self.value(closing) == example["params"])
      default: Issue.record("\(line)")
      }
    }
    #expect(answered == Set(Self.requests.map { $0.method }))
  }
}
