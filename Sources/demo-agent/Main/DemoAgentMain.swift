import DemoAgent
import Glibc
internal import RelayJSON
import RelayTransport
import RelayWire

@main enum DemoAgentMain {
  static func main() async {
    let options: AgentOptions
    do {
      options = try AgentOptions(Array(CommandLine.arguments.dropFirst()))
    } catch {
      StandardError.say("pi-relay-demo-agent: \(error)")
      exit(1)
    }
    if options.wantsVersion {
      print("0.84.0-demo")
      return
    }
    if options.wantsHelp || !options.listensOnPipes {
      print(AgentOptions.help)
      return
    }
    await serve(options)
  }

  private static func serve(_ options: AgentOptions) async {
    let output: Outbox
    let (lines, arrival) = AsyncStream<[UInt8]>.makeStream()
    do {
      let streams = try StandardStreams.takeOver()
      output = Outbox(descriptor: streams.output, limit: 1 << 30)
      let reader = LineReader(
        descriptor: streams.input, maximumLineLength: 128 << 20,
        handlers: .init(
          line: { if case .line(let bytes) = $0 { arrival.yield(Array(bytes)) } },
          end: { arrival.finish() }))
      try reader.start()
    } catch {
      StandardError.say("pi-relay-demo-agent: \(error)")
      exit(1)
    }
    let agent = Agent(options: options) { line in
      // A reader that has gone is the end of us, as it is of pi.
      do { try output.send(Array(line.utf8) + [0x0A]) } catch { exit(1) }
    }
    for await line in lines { await agent.take(line) }
    exit(0)
  }
}
