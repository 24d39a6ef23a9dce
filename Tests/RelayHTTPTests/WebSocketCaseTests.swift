import RelayHTTP
import TestSupport
import Testing

/// The groups of the Autobahn test suite's list that concern a client without extensions: framing, pings, reserved bits,
/// opcodes, fragmentation, UTF-8 and closing. Each case is what a server sends, and what must come of it.
@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: PythonServer.isThere, "scripts/setup-peers"))
struct WebSocketCaseTests {
  struct Case: Sendable {
    var name: String
    var frames: [UInt8]
    /// Sent when the pongs are there.
    var last: [UInt8] = []
    /// Messages that reach the program.
    var messages: [WebSocket.Message] = []
    /// Codes of our close that are right; -1: hanging up without one.
    var codes: Set<Int>
    var pongs: [[UInt8]] = []

    /// A case of well-formed frames, ended by the server with 1000.
    static func good(
      _ name: String, _ frames: [UInt8]..., says messages: [WebSocket.Message] = [], pongs: [[UInt8]] = []
    ) -> Case {
      Case(
        name: name, frames: frames.flatMap(\.self), last: close(1000), messages: messages, codes: [1000], pongs: pongs)
    }

    static func bad(
      _ name: String, _ frames: [UInt8]..., says messages: [WebSocket.Message] = [], code: Int = 1002
    ) -> Case {
      Case(name: name, frames: frames.flatMap(\.self), messages: messages, codes: [code])
    }
  }

  private static func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
    let length = payload.count
    let size = length < 126 ? [UInt8(length)] : [126, UInt8(length >> 8), UInt8(length & 0xFF)]
    return [first] + size + payload
  }

  private static func close(_ code: Int, _ reason: [UInt8] = []) -> [UInt8] {
    frame(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason)
  }

  private static func text(_ words: String) -> WebSocket.Message { .text(Array(words.utf8)) }
  private static let hello = Array("Hello".utf8)
  private static func bytes(_ count: Int) -> [UInt8] { Array(repeating: 0xFE, count: count) }

  static let framing: [Case] =
    [0, 125, 126, 127, 128, 4_000].map { size in
      .good(
        "1.1-\(size)", frame(0x81, Array(repeating: 0x2A, count: size)),
        says: [.text(Array(repeating: 0x2A, count: size))])
    }
    + [0, 125, 126, 127, 128, 4_000].map { size in
      .good("1.2-\(size)", frame(0x82, bytes(size)), says: [.binary(bytes(size))])
    }

  static let pings: [Case] = [
    .good("2.1", frame(0x89, []), pongs: [[]]), .good("2.2", frame(0x89, hello), pongs: [hello]),
    .good("2.4", frame(0x89, bytes(125)), pongs: [bytes(125)]), .bad("2.5", frame(0x89, bytes(126))),
    .good("2.7", frame(0x8A, [])), .good("2.9", frame(0x8A, hello), frame(0x89, [1]), pongs: [[1]]),
    .good("2.10", (0..<10).flatMap { frame(0x89, [$0]) }, pongs: (0..<10).map { [$0] }),
  ]

  static let reserved: [Case] = [
    .bad("3.1", frame(0x91, hello)), .bad("3.2", frame(0x81, hello), frame(0xA1, hello), says: [text("Hello")]),
    .bad("3.3", frame(0xB1, hello)), .bad("3.4", frame(0xC1, hello)), .bad("3.5", frame(0xD2, bytes(8))),
    .bad("3.6", frame(0xE9, hello)), .bad("3.7", frame(0xF8, [3, 232])),
  ]

  static let opcodes: [Case] =
    (3...7).map { .bad("4.1.\($0 - 2)", frame(0x80 | $0, [])) }
    + (11...15).map { .bad("4.2.\($0 - 10)", frame(0x80 | $0, [])) }
    + [.bad("4.1.5-after", frame(0x81, hello), frame(0x87, hello), says: [text("Hello")])]

  static let fragments: [Case] = [
    .bad("5.1", frame(0x09, hello)), .bad("5.2", frame(0x0A, hello)),
    .good("5.3", frame(0x01, [72]), frame(0x80, [105]), says: [text("Hi")]),
    .good("5.6", frame(0x01, [72]), frame(0x89, [7]), frame(0x80, [105]), says: [text("Hi")], pongs: [[7]]),
    .bad("5.9", frame(0x80, hello), frame(0x81, hello)), .bad("5.12", frame(0x00, hello)),
    .bad("5.15", frame(0x01, [72]), frame(0x80, [105]), frame(0x00, [1]), says: [text("Hi")]),
    .bad("5.18", frame(0x01, [72]), frame(0x81, [105])),
    .good(
      "5.19", frame(0x01, [65]), frame(0x00, [66]), frame(0x89, [1]), frame(0x00, []), frame(0x89, [2]),
      frame(0x80, [67]),
      says: [text("ABC")], pongs: [[1], [2]]),
  ]

  private static let valid: [[UInt8]] = [
    Array("κόσμε".utf8), Array("Hello-µ@ßöäüàá-UTF-8!!".utf8), [0x00], [0x7F], [0xC2, 0x80], [0xDF, 0xBF],
    [0xE0, 0xA0, 0x80],
    [0xEF, 0xBF, 0xBF], [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80],
    [0xEF, 0xBF, 0xBD],
  ]

  private static let invalid: [[UInt8]] = [
    [0x80], [0xBF], [0x80, 0xBF, 0x80], [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xF0, 0x80, 0x80, 0xAF], [0xC1, 0xBF],
    [0xE0, 0x9F, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80],
    [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xCE], [0xE2, 0x82],
    [0xF0, 0x9F, 0x98],
    [0x41, 0xC3, 0x28],
  ]

  static let encoding: [Case] =
    valid.enumerated().map { .good("6.2-\($0)", frame(0x81, $1), says: [.text($1)]) }
    + valid.enumerated().filter { $1.count > 1 }.map { number, text in
      .good(
        "6.2-split-\(number)", frame(0x01, Array(text.prefix(1))), frame(0x80, Array(text.dropFirst())),
        says: [.text(text)])
    }
    + invalid.enumerated().map { .bad("6.3-\($0)", frame(0x81, $1), code: 1007) }
    + invalid.enumerated().map {
      .bad("6.4-\($0)", frame(0x01, hello + $1.prefix(1)), frame(0x80, Array($1.dropFirst())), code: 1007)
    }
    + [.good("6.1", frame(0x01, []), frame(0x00, []), frame(0x80, []), says: [.text([])])]

  static let closing: [Case] =
    [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999].map { code in
      Case(name: "7.7-\(code)", frames: close(code), codes: [code])
    }
    + [0, 999, 1004, 1005, 1006].map { .bad("7.9-\($0)", close($0)) }
    + [
      Case(name: "7.1.3", frames: close(1000) + close(1001), codes: [1000]),
      Case(name: "7.1.4", frames: close(1000) + frame(0x81, hello), codes: [1000]),
      Case(name: "7.3.1", frames: frame(0x88, []), codes: [0]),
      // Answered by wslay without a code.
      .bad("7.3.2", frame(0x88, [3]), code: 0),
      Case(name: "7.3.5", frames: close(1000, Array(repeating: 0x2A, count: 123)), codes: [1000]),
      .bad("7.3.6", close(1000, Array(repeating: 0x2A, count: 124))),
      .bad("7.5.1", close(1000, [0xCE, 0xBA, 0xED, 0xA0, 0x80]), code: 1007),
    ]

  struct Group: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var cases: [Case]
  }

  @Test(arguments: [
    Group(testDescription: "framing", cases: framing), Group(testDescription: "pings", cases: pings),
    Group(testDescription: "reserved bits", cases: reserved), Group(testDescription: "opcodes", cases: opcodes),
    Group(testDescription: "fragments", cases: fragments), Group(testDescription: "UTF-8", cases: encoding),
    Group(testDescription: "closing", cases: closing),
  ])
  func `every case of a group`(_ group: Group) async throws {
    try await PythonServer.run("websocket-server", with: PythonServer.python) { server in
      for wanted in group.cases { try await run(wanted, at: server) }
    }
  }

  private func run(_ wanted: Case, at server: PythonServer) async throws {
    var request = WebSocket.Request(
      url:
        "ws://127.0.0.1:\(server.ports[1])/case/\(wanted.name)?\(Self.hex(wanted.frames))&\(wanted.pongs.count)&\(Self.hex(wanted.last))"
    )
    request.allowsPlain = true
    let socket = try await WebSocket.connect(request)
    var messages: [WebSocket.Message] = []
    while let message = await socket.next() { messages.append(message) }
    #expect(messages == wanted.messages, "\(wanted.name)")
    let answer = await server.wait { lines in lines.first { $0.hasPrefix("answered \(wanted.name) ") } }
    let parts = (answer ?? "").split(separator: " ").map(String.init)
    try #require(parts.count == 4, "\(wanted.name)")
    #expect(wanted.codes.contains(Int(parts[2]) ?? -1), "\(wanted.name): closed with \(parts[2])")
    let pongs = wanted.pongs.map(Self.hex).joined(separator: ",")
    #expect(parts[3] == (pongs.isEmpty ? "-" : pongs), "\(wanted.name)")
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
