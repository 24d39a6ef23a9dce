internal import CZlib
internal import RelayWire

/// Undoes `zlib-stream`: one compressed stream for the whole connection, in which each message ends with a flush.
///
/// https://discord.com/developers/docs/events/gateway#transport-compression
final class GatewayInflater {
  enum Failure: Error, Equatable, CustomStringConvertible {
    case corrupt(String)
    case tooLarge(limit: Int)

    var description: String {
      switch self {
      case .corrupt(let why): "the gateway's stream cannot be inflated: \(why)"
      case .tooLarge(let limit): "a message of the gateway is larger than \(ByteCount(limit))"
      }
    }
  }

  private static let flush: [UInt8] = [0, 0, 0xFF, 0xFF]

  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let maximumBytes: Int
  private var waiting: [UInt8] = []

  /// - Parameter maximumBytes: of one message, inflated.
  init(maximumBytes: Int = 64 << 20) {
    self.maximumBytes = maximumBytes
    stream.initialize(to: z_stream())
    let code = relay_inflate_begin(stream)
    precondition(code == Z_OK, "zlib has no memory")
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Takes what came in one frame.
  ///
  /// - Returns: the message, when it is complete.
  func take(_ bytes: [UInt8]) throws(Failure) -> [UInt8]? {
    guard waiting.count + bytes.count <= maximumBytes else { throw .tooLarge(limit: maximumBytes) }
    waiting += bytes
    guard waiting.suffix(4).elementsEqual(Self.flush) else { return nil }
    defer { waiting = [] }
    return try inflateWaiting()
  }

  private func inflateWaiting() throws(Failure) -> [UInt8] {
    var result: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 32 * 1024)
    let failure: Failure? = waiting.withUnsafeMutableBufferPointer { input in
      stream.pointee.next_in = input.baseAddress
      stream.pointee.avail_in = UInt32(input.count)
      while true {
        let (code, count) = chunk.withUnsafeMutableBufferPointer { output in
          stream.pointee.next_out = output.baseAddress
          stream.pointee.avail_out = UInt32(output.count)
          return (inflate(stream, Z_SYNC_FLUSH), output.count - Int(stream.pointee.avail_out))
        }
        // Nothing left to do is no error.
        guard code == Z_OK || code == Z_BUF_ERROR else {
          return .corrupt(stream.pointee.msg.map { String(cString: $0) } ?? "code \(code)")
        }
        result += chunk[..<count]
        if result.count > maximumBytes { return .tooLarge(limit: maximumBytes) }
        if count < chunk.count { return nil }
      }
    }
    if let failure { throw failure }
    return result
  }
}
