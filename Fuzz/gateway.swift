// What a server says before the first frame, and a compressed stream in any frames: neither reads beyond its limits, and
// what is found does not depend on the chunks.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzGateway(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let bytes = Array(UnsafeBufferPointer(start: data + 1, count: count - 1))
  if data[0].isMultiple(of: 2) {
    let handshake = WebSocketHandshake(key: "dGhlIHNhbXBsZSBub25jZQ==")
    if let length = try? handshake.read(bytes) { precondition((1...bytes.count).contains(length)) }
    return 0
  }
  let limit = 1 << 16
  let inflater = GatewayInflater(maximumBytes: limit)
  let size = Int(data[0]) + 1
  for start in stride(from: 0, to: bytes.count, by: size) {
    guard let message = try? inflater.take(Array(bytes[start..<min(start + size, bytes.count)])) else { continue }
    precondition(message.count <= limit)
  }
  return 0
}
