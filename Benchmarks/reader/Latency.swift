import Glibc
import PluginSDK
import RelayPipes
import RelayWire

/// The way of one delta through the relay: an agent that writes the time into each, and a messenger that reads it.
enum Latency {
  static func now() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  private static func say(_ line: String) {
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

  private static func stream() {
    say(#"{"type":"agent_start"}"#)
    say(#"{"type":"message_start","message":{"role":"user","content":[]}}"#)
    var text = ""
    for _ in 0..<300 {
      let delta = "\(now()) "
      text += delta
      say(
        #"{"type":"message_update","usage":{"input":0,"output":0},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"\#(delta)"}}"#
      )
      usleep(4_000)
    }
    say(
      #"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"\#(text)"}],"stopReason":"stop"}}"#
    )
    say(#"{"type":"agent_end","messages":[],"willRetry":false}"#)
    say(#"{"type":"agent_settled"}"#)
  }

  /// Microseconds of the median of 2,000 round trips of 300 bytes between two processes over pipes.
  static func pingPong() {
    var forth: [Int32] = [0, 0]
    var back: [Int32] = [0, 0]
    guard pipe(&forth) == 0, pipe(&back) == 0 else { return }
    var bytes = [UInt8](repeating: 1, count: 300)
    let (there, here) = (forth, back)
    LoopThread.start(name: "echo") {
      var bytes = [UInt8](repeating: 0, count: 300)
      while read(there[0], &bytes, 300) == 300 { _ = write(here[1], bytes, 300) }
    }
    var times: [Int] = []
    for _ in 0..<2_000 {
      let began = now()
      _ = write(there[1], bytes, 300)
      _ = read(here[0], &bytes, 300)
      times.append(now() - began)
      usleep(500)
    }
    print(Double(times.sorted()[times.count / 2]) / 1_000)
  }
}

/// Notes for each edit how old its last delta is; says a prompt by itself; writes the median to its configured file.
struct LatencyMessenger: Plugin {
  static let name = "latency"
  private struct Settings: Decodable { var result: String }
  private let host = Latch<Host>()
  private let result = Latch<String>()
  private let ages = Locked<[Int]>([])

  init() {}

  func start(_ host: Host) async throws -> Capabilities {
    result.set(try host.config(as: Settings.self).result)
    self.host.set(host)
    var capabilities = Capabilities.messenger(
      maximumTextLength: 100_000, unit: .graphemes, dialect: "markdown", edit: true)
    capabilities.outcomes = true
    capabilities.minimumEditInterval = 0
    return capabilities
  }

  func run() async throws {
    _ = try await host.value?.received(
      MessageReceived(id: "1", conversation: Conversation(id: "c"), sender: Sender(id: "u", name: "u"), text: "go"))
  }

  private func note(_ text: String) {
    let now = Latency.now()
    let last = text.split(separator: " ").last.flatMap { Int($0) }
    if let last { ages.withLock { $0.append(now - last) } }
  }

  func send(_ request: MessageSend) async throws -> Receipt {
    note(request.text)
    return Receipt(message: "1")
  }

  func edit(_ request: MessageEdit) async throws -> Receipt {
    if request.streaming == true { note(request.text) }
    return Receipt(message: "1")
  }

  func settled(_ request: MessageSettled) async throws {
    let sorted = ages.withLock { $0.sorted() }
    guard !sorted.isEmpty, let file = result.value, let out = fopen(file, "we") else { return }
    fputs("\(Double(sorted[sorted.count / 2]) / 1_000)\n", out)
    fclose(out)
  }
}
