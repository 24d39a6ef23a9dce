// Any line: the scanner and the cursor read nothing outside it, and agree with themselves when it is cut short.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzScanner(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: data, count: count)
  var scanner = PiEventScanner()
  var text = DeltaText()
  _ = scanner.scan(bytes, into: &text)
  _ = scanner.judge(bytes, into: &text)
  if let shown = text.take() { precondition(!shown.isEmpty) }
  _ = JSONText.repairingLoneSurrogates(bytes)
  return 0
}
