import RelayJSON
import Testing

/// Feeds `input` in chunks of one size and collects what comes out, as text.
private func frame(_ input: [UInt8], chunk: Int, limit: Int = 1 << 20) -> [String] {
  var framer = LineFramer(maximumLineLength: limit)
  var found: [String] = []
  func note(_ framed: FramedLine) {
    switch framed {
    case .line(let bytes): found.append(String(decoding: bytes, as: UTF8.self))
    case .tooLong(let length): found.append("<too long: \(length)>")
    case .dismissed(let length): found.append("<dismissed: \(length)>")
    case .unfinished(let bytes): found.append("<unfinished: \(bytes.count)>")
    }
  }
  input.withUnsafeBytes { whole in
    var start = 0
    while start < whole.count {
      let end = min(start + chunk, whole.count)
      framer.feed(UnsafeRawBufferPointer(rebasing: whole[start..<end]), deliver: note)
      start = end
    }
  }
  framer.finish(deliver: note)
  return found
}

@Suite struct LineFramerTests {
  @Test func `every split of a short stream gives the same lines`() {
    let text = "{\"a\":1}\r\n\n{\"emoji\":\"🦊\u{2028}x\u{2029}\u{85}\"}\nlast\r\n"
    let input = Array(text.utf8)
    let want = ["{\"a\":1}", "{\"emoji\":\"🦊\u{2028}x\u{2029}\u{85}\"}", "last"]
    for chunk in 1...input.count {
      #expect(frame(input, chunk: chunk) == want)
    }
  }

  @Test func `every line length up to 4 KiB survives every split`() {
    // For each length, one split point per position of the newline's neighbourhood and a spread of others.
    for length in 1...4_096 {
      let line = [UInt8](repeating: 0x61, count: length)
      let input = line + [0x0A] + line + [0x0A]
      for chunk in [1, 2, 3, length, length + 1, length + 2, 2 * length] where chunk > 2 || length <= 64 {
        let found = frame(input, chunk: chunk)
        #expect(found.count == 2 && found.allSatisfy { $0.utf8.count == length }, "length \(length), chunk \(chunk)")
      }
    }
  }

  @Test(arguments: [1, 4_095, 65_536]) func `64 MiB pass as one line in chunks`(chunk: Int) {
    let size = 64 << 20
    var framer = LineFramer(maximumLineLength: size)
    let piece = [UInt8](repeating: 0x78, count: chunk)
    var delivered: [Int] = []
    func note(_ framed: FramedLine) {
      if case .line(let bytes) = framed { delivered.append(bytes.count) }
    }
    piece.withUnsafeBytes { bytes in
      var fed = 0
      while fed < size {
        let count = min(chunk, size - fed)
        framer.feed(UnsafeRawBufferPointer(rebasing: bytes[..<count]), deliver: note)
        fed += count
      }
    }
    [UInt8(0x0A)].withUnsafeBytes { framer.feed($0, deliver: note) }
    #expect(delivered == [size])
    #expect(framer.heldBytes == 0)
  }

  @Test(arguments: [1, 7, 100, 1_000]) func `an over-long line is skipped to its newline and nothing else`(chunk: Int) {
    let input = Array("ok\n".utf8) + [UInt8](repeating: 0x79, count: 101) + Array("\nnext\n".utf8)
    #expect(frame(input, chunk: chunk, limit: 100) == ["ok", "<too long: 101>", "next"])
  }

  @Test func `an endless line holds no more than the limit`() {
    var framer = LineFramer(maximumLineLength: 1_000)
    let piece = [UInt8](repeating: 0x7A, count: 300)
    for _ in 0..<1_000 {
      piece.withUnsafeBytes { framer.feed($0) { _ in Issue.record("nothing ends here") } }
      #expect(framer.heldBytes <= 1_000)
    }
  }

  @Test func `half a line at the end is told apart from a line`() {
    #expect(frame(Array("one\ntwo".utf8), chunk: 2) == ["one", "<unfinished: 3>"])
    #expect(frame(Array("one\n".utf8), chunk: 2) == ["one"])
  }

  @Test func `an object that is not needed is dropped as it arrives, with the number of its bytes`() {
    var framer = LineFramer(maximumLineLength: 64 << 20)
    var shown = 0
    var found: [String] = []
    let object = Array("{\"a\":\"".utf8) + [UInt8](repeating: 0x61, count: 300_000 - 6)
    let input = object + Array("\nnext\n".utf8)
    input.withUnsafeBytes { whole in
      var start = 0
      while start < whole.count {
        let end = min(start + 10_000, whole.count)
        framer.feed(UnsafeRawBufferPointer(rebasing: whole[start..<end])) { beginning in
          shown = beginning.count
          return .dropObject(at: 0)
        } deliver: { framed in
          switch framed {
          case .dismissed(let length): found.append("dismissed \(length)")
          case .line(let bytes): found.append(String(decoding: bytes, as: UTF8.self))
          default: Issue.record("unexpected")
          }
        }
        #expect(framer.heldBytes <= LineFramer.judgedLength + 10_000)
        start = end
      }
    }
    #expect(shown > LineFramer.judgedLength)
    #expect(found == ["dismissed 300000", "next"])
  }

  @Test(arguments: [1, 2, 3, 7, 1_000, 70_000]) func `the text after a dropped object is a line of its own`(
    chunk: Int
  ) {
    // Every byte may be the last of a piece: braces in strings, escaped quotes, backslashes before them.
    let object = #"{"a":["}\\","\"{",{"b":[]}],"c":""# + String(repeating: #"\"}\\"#, count: 30_000) + #""}"#
    var framer = LineFramer(maximumLineLength: LineFramer.judgedLength * 3)
    var found: [String] = []
    let input = Array((object + "rest\r\n" + "next\n").utf8)
    input.withUnsafeBytes { whole in
      for start in stride(from: 0, to: whole.count, by: chunk) {
        framer.feed(UnsafeRawBufferPointer(rebasing: whole[start..<min(start + chunk, whole.count)])) { _ in
          .dropObject(at: 0)
        } deliver: { framed in
          switch framed {
          case .dismissed(let length): found.append("dismissed \(length)")
          case .line(let bytes): found.append(String(decoding: bytes, as: UTF8.self))
          default: Issue.record("unexpected")
          }
        }
      }
    }
    #expect(found == ["dismissed \(object.utf8.count)", "rest", "next"])
  }
}
