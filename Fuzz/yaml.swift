// Any file: it is read or refused, within bounds.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzYAML(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  _ = try? YAMLReader.read(Array(UnsafeRawBufferPointer(start: data, count: count)))
  return 0
}
