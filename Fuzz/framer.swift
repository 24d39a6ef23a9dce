// Any bytes in any chunks: the lines found do not depend on the chunks, and no more is held than allowed.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFramer(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let chunk = Int(data[0]) + 1
  let bytes = UnsafeRawBufferPointer(start: data + 1, count: count - 1)
  func frame(_ size: Int) -> [[UInt8]] {
    var framer = LineFramer(maximumLineLength: 100)
    var found: [[UInt8]] = []
    func note(_ framed: FramedLine) {
      switch framed {
      case .line(let line): found.append(Array(line))
      case .tooLong(let length): found.append(Array("long \(length)".utf8))
      case .dismissed: fatalError("nothing is dismissed here")
      case .unfinished(let rest): found.append(Array("rest".utf8) + rest)
      }
    }
    var start = 0
    while start < bytes.count {
      let end = min(start + size, bytes.count)
      framer.feed(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), deliver: note)
      precondition(framer.heldBytes <= 100)
      start = end
    }
    framer.finish(deliver: note)
    return found
  }
  let whole = frame(bytes.count)
  let pieces = frame(chunk)
  // A rest at the end that is too long is told in no way; all else must agree.
  precondition(whole.filter { !$0.starts(with: "rest".utf8) } == pieces.filter { !$0.starts(with: "rest".utf8) })
  return 0
}
