// Any line: the scanner, the decoder and the cursor read nothing outside it, and agree with themselves when it is cut short.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzScanner(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: data, count: count)
  var scanner = PiEventScanner()
  var text = DeltaText()
  _ = scanner.scan(bytes, into: &text)
  _ = scanner.judge(bytes, into: &text)
  if let shown = text.take() { precondition(!shown.isEmpty) }
  if let message = try? JSONCoding.decode(MessageReceived.self, from: bytes) {
    let again = try? JSONCoding.decode(MessageReceived.self, from: JSONCoding.encode(message))
    precondition(again == message)
  }
  fuzzStream(bytes)
  return 0
}

/// The events of a stream with other text in it do not depend on the chunks in which it arrives.
private func fuzzStream(_ bytes: UnsafeRawBufferPointer) {
  func events(_ size: Int) -> [PiEvent] {
    var stream = PiStream()
    var framer = LineFramer(maximumLineLength: 1 << 20)
    var found: [PiEvent] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      let chunk = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + size, bytes.count)])
      for case .event(let event) in stream.read(chunk, with: &framer) { found.append(event) }
    }
    return found
  }
  guard !bytes.isEmpty else { return }
  precondition(events(bytes.count) == events(7))
}
