import Glibc
import PiRPC
import RelayPipes
import RelayWire

/// The product's own way of reading pi, alone: `generate delta|cumulative` writes a stream, `read` reads one from
/// standard input and prints how long the reply's text is.
@main enum ReaderMain {
  static func main() async {
    // Under the names that the daemon starts it by, it is the agent or the messenger of the latency measurement.
    if CommandLine.arguments[0].hasSuffix("/latency-agent") { return Latency.agent() }
    if CommandLine.arguments[0].hasSuffix("/latency") { return Latency.messenger() }
    if CommandLine.arguments[0].hasSuffix("/acknowledgement") { return Acknowledgement.messenger() }
    switch CommandLine.arguments.dropFirst().first {
    case "generate": generate(cumulative: CommandLine.arguments.last == "cumulative")
    case "read": await read()
    case "echo": Latency.echo()
    case "pingpong": Latency.pingPong()
    case "commit": await Acknowledgement.peers(in: CommandLine.arguments.last ?? ".")
    case "fill": await Acknowledgement.fill(CommandLine.arguments.last ?? ".")
    default:
      StandardError.say(
        "usage: pi-relay-bench generate delta|cumulative | read | echo | pingpong | commit FOLDER | fill HOME")
    }
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

  private static func generate(cumulative: Bool) {
    let usage =
      #""usage":{"input":1437,"output":14,"cacheRead":0,"cacheWrite":0,"totalTokens":1451,"cost":{"input":0.001437,"output":0.000028,"cacheRead":0,"cacheWrite":0,"total":0.001465}}"#
    guard cumulative else {
      // 500,000 events of about 270 bytes.
      for block in 0..<500 {
        var text = ""
        for index in 0..<1_000 {
          text +=
            #"{"type":"message_update",\#(usage),"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"w\#(block * 1_000 + index) "}}"#
            + "\n"
        }
        write(text)
      }
      return
    }
    // A reply of 20 KB in deltas of 4 bytes, the whole message twice in each: about 100 MB.
    var reply = ""
    for index in 0..<5_000 {
      let delta = String("abcdefghijklmnopqrstuvwxyz".dropFirst(index % 20).prefix(4))
      reply += delta
      let message =
        #"{"role":"assistant","content":[{"type":"text","text":"\#(reply)"}],\#(usage),"stopReason":"stop"}"#
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
