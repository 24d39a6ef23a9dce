import Glibc
import RelayJSON
import RelayTransport
import RelayWire

/// The way of one delta through the relay: an agent that writes the time into each, and a messenger that reads it.
enum Latency {
  /// Microseconds between deltas.
  static let gap: UInt32 = 4_000

  static func now() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  static func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(1, bytes, bytes.count)
  }

  /// Speaks just enough of pi's protocol; answers each prompt with 300 deltas, 4 ms apart.
  static func agent() {
    if CommandLine.arguments.contains("--help") { return print("--session-id") }
    if CommandLine.arguments.contains("--version") { return print("0") }
    while let line = readLine() {
      let value = try? JSONCoding.decode(JSONValue.self, from: Array(line.utf8))
      let id = value?["id"]?.stringValue ?? ""
      let type = value?["type"]?.stringValue ?? ""
      let data = type == "get_entries" ? #"{"entries":[],"leafId":"x"}"# : "{}"
      say(#"{"id":"\#(id)","type":"response","command":"\#(type)","success":true,"data":\#(data)}"#)
      if type == "prompt" { stream() }
    }
  }

  /// A delta is a line with the time in nanoseconds modulo ten seconds: as short as a real one, and redaction holds back no
  /// line that is whole.
  private static let digits = 10
  private static let turn = 10_000_000_000

  private static func stream() {
    say(#"{"type":"agent_start"}"#)
    say(#"{"type":"message_start","message":{"role":"user","content":[]}}"#)
    var text = ""
    let zeros = String(repeating: "0", count: digits)
    var line = Array(
      (#"{"type":"message_update","usage":{"input":0,"output":0},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":""#
        + zeros + #"\n"}}"# + "\n").utf8)
    let place = line.count - 6 - digits
    for _ in 0..<300 {
      // Written into a line that is ready, so that no more than the time lies between the clock and the pipe.
      var time = now()
      for index in (place..<place + digits).reversed() {
        line[index] = UInt8(ascii: "0") + UInt8(time % 10)
        time /= 10
      }
      _ = write(1, line, line.count)
      text += String(decoding: line[place...place + digits + 1], as: UTF8.self)
      usleep(gap)
    }
    say(
      #"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"\#(text)"}],"stopReason":"stop"}}"#
    )
    say(#"{"type":"agent_end","messages":[],"willRetry":false}"#)
    say(#"{"type":"agent_settled"}"#)
  }

  /// One end of a bare round trip: sends every line back.
  static func echo() {
    var bytes = [UInt8](repeating: 0, count: 300)
    while read(0, &bytes, 300) == 300 { _ = write(1, bytes, 300) }
  }

  /// The other end: tells the median of 500 round trips of 300 bytes in microseconds, on standard error. They are as
  /// far apart as the agent's deltas, so that both find the machine equally asleep.
  static func pingPong() {
    var bytes = [UInt8](repeating: 1, count: 300)
    var times: [Int] = []
    for _ in 0..<500 {
      usleep(gap)
      let began = now()
      _ = write(1, bytes, 300)
      _ = read(0, &bytes, 300)
      times.append(now() - began)
    }
    StandardError.say("\(Double(times.sorted()[times.count / 2]) / 1_000)")
  }

  /// A messenger that notes how old the newest delta is when it reads it, before it looks at anything else; says a
  /// prompt by itself; writes the median in microseconds, and the longest silence of the stream in milliseconds, to its
  /// configured file, and when the stream has begun a file beside it.
  static func messenger() {
    var buffer = [UInt8](repeating: 0, count: EventLoop.chunkSize)
    var framer = LineFramer(maximumLineLength: ProtocolLimits.maximumLineLength)
    var ages: [Int] = []
    var result = ""
    // Between one change of the text and the next.
    var (last, maximumSilence) = (0, 0)
    while true {
      let count = read(0, &buffer, buffer.count)
      let arrived = now()
      guard count > 0 else { return }
      buffer.withUnsafeBytes { bytes in
        framer.feed(UnsafeRawBufferPointer(rebasing: bytes[..<count]), judge: { _ in .keep }) { framed in
          guard case .line(let line) = framed, let envelope = Envelope(line),
            case .request(.integer(let id), let method) = envelope.kind
          else { return }
          answer(id, method)
          switch method {
          case "initialize": result = begin(line)
          case "message.send", "message.edit":
            if let stamp = lastDelta(line) { ages.append(((arrived - stamp) % turn + turn) % turn) }
            if last == 0 {
              save("", to: result + ".started")
            } else {
              maximumSilence = max(maximumSilence, arrived - last)
            }
            last = arrived
          case "message.settled":
            guard !ages.isEmpty else { return }
            save("\(Double(ages.sorted()[ages.count / 2]) / 1_000) \(Double(maximumSilence) / 1e6)", to: result)
          default: break
          }
        }
      }
    }
  }

  /// Says a prompt, and answers where the result goes.
  private static func begin(_ line: UnsafeRawBufferPointer) -> String {
    say(
      #"{"jsonrpc":"2.0","id":1,"method":"message.received","params":{"id":"1","conversation":{"id":"c","kind":"dm"},"sender":{"id":"u","name":"u"},"text":"go"}}"#
    )
    return resultFile(line)
  }

  /// Where the result goes, as `initialize` says.
  static func resultFile(_ line: UnsafeRawBufferPointer) -> String {
    let value = try? JSONCoding.decode(JSONValue.self, from: line)
    return value?["params"]?["config"]?["result"]?.stringValue ?? ""
  }

  static func save(_ text: String, to path: String) {
    guard let out = fopen(path, "we") else { return }
    fputs(text + "\n", out)
    fclose(out)
  }

  /// The time in the last delta of a growing text: its last digits.
  private static func lastDelta(_ line: UnsafeRawBufferPointer) -> Int? {
    var stamp: Int?
    var cursor = JSONCursor(line)
    _ = cursor.members { key, cursor in
      guard key.equals("params") else { return true }
      return cursor.members { key, cursor in
        guard key.equals("text"), let (range, _) = cursor.string(),
          let last = line[range].lastIndex(where: { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
          last - range.lowerBound >= digits - 1
        else { return true }
        stamp = Int(String(decoding: line[last - digits + 1...last], as: UTF8.self))
        return true
      }
    }
    return stamp
  }

  static func answer(_ id: Int64, _ method: String) {
    let reply =
      switch method {
      case "initialize":
        #"{"protocolVersion":1,"name":"latency","version":"1","kinds":["messenger"],"capabilities":{"maximumTextLength":100000,"lengthUnit":"graphemes","dialect":"markdown","edit":true,"minimumEditInterval":0,"outcomes":true}}"#
      case "message.send", "message.edit": #"{"message":"1"}"#
      default: "{}"
      }
    say(#"{"jsonrpc":"2.0","id":\#(id),"result":\#(reply)}"#)
  }
}
