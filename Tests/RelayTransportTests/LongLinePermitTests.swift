import Glibc
import RelayConcurrency
import RelayJSON
import RelayTransport
import RelayWire
import TestSupport
import Testing

@Suite struct LongLinePermitTests {
  private enum Heard: Equatable, Sendable {
    case line(Int)
    case tooLong(Int)
    case end
  }

  /// A reader behind a pipe whose writing end is ours.
  private struct Stream {
    let reader: LineReader
    let heard = Mailbox<Heard>()
    let input: Int32

    init(_ permit: LongLinePermit) throws {
      let pipe = try pipe()
      input = pipe.write
      let heard = heard
      reader = LineReader(
        descriptor: pipe.read, maximumLineLength: 64 << 20, permit: permit,
        handlers: .init(
          line: { framed in
            switch framed {
            case .line(let bytes): heard.post(.line(bytes.count))
            case .tooLong(let length): heard.post(.tooLong(length))
            case .dismissed, .unfinished: break
            }
          }, end: { heard.post(.end) }))
      try reader.start()
    }

    /// Writes from a thread of its own: the pipe takes it only as fast as it is read.
    func write(_ count: Int, ending: Bool, thenClose: Bool = false) -> Task<Void, Never> {
      let input = input
      let written = Mailbox<Bool>()
      LoopThread.start(name: "writer") {
        var bytes = [UInt8](repeating: 0x61, count: count)
        if ending { bytes.append(0x0A) }
        var done = 0
        while done < bytes.count {
          done += bytes.withUnsafeBytes { Glibc.write(input, $0.baseAddress! + done, bytes.count - done) }
        }
        if thenClose { close(input) }
        written.post(true)
      }
      return Task { _ = await written.next() }
    }
  }

  private static let long = 3 << 20

  /// Two streams that share a permit, which the unfinished line of the first holds.
  private struct Rivals {
    let clock = ManualClock()
    let first: Stream
    let second: Stream

    init() async throws {
      let permit = LongLinePermit(clock: clock)
      (first, second) = (try Stream(permit), try Stream(permit))
      await first.write(long, ending: false).value
    }

    /// Writes a long line into the second stream, and returns while it waits for the permit.
    func writeSecond(thenClose: Bool = false) async -> Task<Void, Never> {
      let writing = second.write(long, ending: true, thenClose: thenClose)
      // Its patience is the sign that it waits.
      await clock.sleepers(1)
      return writing
    }
  }

  @Test func `a second long line waits in its pipe until the first is whole`() async throws {
    let rivals = try await Rivals()
    let (first, second) = (rivals.first, rivals.second)
    let writing = await rivals.writeSecond()
    #expect(second.heard.isEmpty)
    await first.write(Self.long, ending: true).value
    #expect(await first.heard.next() == .line(2 * Self.long))
    #expect(await second.heard.next() == .line(Self.long))
    await writing.value
    close(first.input)
    close(second.input)
  }

  @Test func `short lines need no permit`() async throws {
    let rivals = try await Rivals()
    let (first, second) = (rivals.first, rivals.second)
    await second.write(1_000, ending: true).value
    #expect(await second.heard.next() == .line(1_000))
    close(first.input)
    close(second.input)
  }

  @Test func `a writer that stops within a line loses it to the one that waits`() async throws {
    let rivals = try await Rivals()
    let (first, second) = (rivals.first, rivals.second)
    let writing = await rivals.writeSecond()
    rivals.clock.advance(by: LongLinePermit.patience)
    #expect(await second.heard.next() == .line(Self.long))
    await writing.value
    await first.write(100, ending: true).value
    #expect(await first.heard.next() == .tooLong(Self.long + 100))
    await first.write(100, ending: true).value
    #expect(await first.heard.next() == .line(100))
    close(first.input)
    close(second.input)
  }

  @Test func `a permit is free again when its holder ends`() async throws {
    let rivals = try await Rivals()
    let second = rivals.second
    let writing = await rivals.writeSecond(thenClose: true)
    close(rivals.first.input)
    #expect(await second.heard.next() == .line(Self.long))
    #expect(await second.heard.next() == .end)
    await writing.value
  }

  @Test func `a stream that ends while it waits is read to its end`() async throws {
    let rivals = try await Rivals()
    let (first, second) = (rivals.first, rivals.second)
    // More than is free, and no more than that and the pipe hold.
    await second.write(LongLinePermit.freeLength + 100, ending: true, thenClose: true).value
    #expect(await second.heard.next() == .line(LongLinePermit.freeLength + 100))
    #expect(await second.heard.next() == .end)
    close(first.input)
  }
}
