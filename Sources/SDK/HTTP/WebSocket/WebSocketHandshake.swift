import CCrypto
import Glibc
import RelayWire

/// The opening handshake of RFC 6455, §4: the request, and the check of the answer.
struct WebSocketHandshake {
  private let key: String

  /// Longest answer, in bytes.
  static let maximumAnswer = 16 * 1024
  private static let magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

  init() {
    var random = SystemRandomNumberGenerator()
    key = Self.base64((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
  }

  init(key: String) { self.key = key }

  func request(host: String, target: String, headers: [(name: String, value: String)]) -> [UInt8] {
    var lines = ["GET \(target) HTTP/1.1", "Host: \(host)", "Upgrade: websocket", "Connection: Upgrade"]
    lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: \(key)"]
    lines += headers.map { "\($0.name): \($0.value)" }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  /// The server's right answer to our key.
  var expectedAccept: String {
    let bytes = Array((key + Self.magic).utf8)
    var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
    SHA1(bytes, bytes.count, &digest)
    return Self.base64(digest)
  }

  /// Reads the server's answer.
  ///
  /// - Returns: how many bytes it has, its frames following; nil when there is more to come.
  func read(_ bytes: [UInt8]) throws(WebSocketError) -> Int? {
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
      guard bytes.count <= Self.maximumAnswer else {
        throw .refused("its answer is longer than \(ByteCount(Self.maximumAnswer))")
      }
      return nil
    }
    let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    guard status == 101 else {
      throw .refused("it answered \(status.map(String.init) ?? "something that is not HTTP")")
    }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = String(line[line.index(after: colon)...]).trimmingBlanks()
    }
    guard headers["upgrade"]?.lowercased() == "websocket",
      headers["connection"]?.lowercased().contains("upgrade") == true,
      headers["sec-websocket-accept"] == expectedAccept
    else { throw .refused("its answer is not that of a WebSocket") }
    return end.upperBound
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    var text = [UInt8](repeating: 0, count: bytes.count / 3 * 4 + 8)
    let count = EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
    return String(decoding: text.prefix(Int(count)), as: UTF8.self)
  }
}
