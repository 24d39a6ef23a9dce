import Glibc
import PiRPC
import RelayConcurrency
import RelayTransport
import RelayWire

/// The product's own way of reading pi, alone: `generate delta|cumulative COUNT` writes a stream of so many events, `read`
/// reads one from standard input and prints how long the reply's text is.
@main enum ReaderMain {
  static func main() async {
    // Under the names that the daemon starts it by, it is the agent or the messenger of the latency measurement.
    if CommandLine.arguments[0].hasSuffix("/latency-agent") { return Latency.agent() }
    if CommandLine.arguments[0].hasSuffix("/latency") { return Latency.messenger() }
    if CommandLine.arguments[0].hasSuffix("/acknowledgement") { return Acknowledgement.messenger() }
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.first {
    case "generate":
      guard let count = arguments.last.flatMap(Int.init) else { return usage() }
      arguments.contains("cumulative") ? cumulative(count) : deltas(count)
    case "read": await read()
    case "echo": Latency.echo()
    case "pingpong": Latency.pingPong()
    case "pass": Acknowledgement.pass(through: arguments.count == 2 ? arguments.last : nil)
    case "commit": await Acknowledgement.peers(in: CommandLine.arguments.last ?? ".")
    case "fill": await Acknowledgement.fill(CommandLine.arguments.last ?? ".")
    default: usage()
    }
  }

  private static func usage() {
    StandardError.say(
      """
      usage: pi-relay-bench generate delta|cumulative COUNT | read | echo | pingpong | pass [FILE] | commit FOLDER | fill HOME
      """)
    exit(2)
  }

  private static func write(_ text: String) {
    let bytes = Array(text.utf8)
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { Glibc.write(1, $0.baseAddress! + done, bytes.count - done) }
      guard count > 0 else { exit(1) }
      done += count
    }
  }

  private static let tokens =
    #""usage":{"input":1437,"output":14,"cacheRead":0,"cacheWrite":0,"totalTokens":1451,"cost":{"input":0.001437,"output":0.000028,"cacheRead":0,"cacheWrite":0,"total":0.001465}}"#

  /// Events of about 270 bytes.
  private static func deltas(_ count: Int) {
    for begin in stride(from: 0, to: count, by: 1_000) {
      var text = ""
      for index in begin..<min(count, begin + 1_000) {
        text +=
          #"{"type":"message_update",\#(tokens),"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"w\#(index) "}}"#
          + "\n"
      }
      write(text)
    }
  }

  /// Deltas of 4 bytes, each event with the whole message so far twice: 5,000 are a reply of 20 KB in about 100 MB.
  private static func cumulative(_ count: Int) {
    var reply = ""
    for index in 0..<count {
      let delta = String("abcdefghijklmnopqrstuvwxyz".dropFirst(index % 20).prefix(4))
      reply += delta
      let message =
        #"{"role":"assistant","content":[{"type":"text","text":"\#(reply)"}],\#(tokens),"stopReason":"stop"}"#
      write(
        #"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"\#(delta)","partial":\#(message)},"message":\#(message)}"#
          + "\n")
    }
  }

  private static func read() async {
    let state = Locked((stream: PiStream(), reply: ""))
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      let reader = LineReader(
        descriptor: 0, maximumLineLength: 64 << 20,
        handlers: .init(
          chunk: { chunk, framer in
            state.withLock { state in
              for case .text(let more) in state.stream.read(chunk, with: &framer) { state.reply += more }
            }
          }, rest: { _ in }, end: { done.resume() }))
      do { try reader.start() } catch {
        StandardError.say("\(error)")
        exit(1)
      }
    }
    state.withLock { print($0.reply.utf8.count) }
  }
}
