/// The kind of a file, judged by its bytes; its name and the MIME type that the platform states count for nothing.
package enum FileKind: Equatable, Sendable {
  /// A picture that models take.
  case image(mime: String)
  case text(String)
  case other

  package static func of(_ bytes: [UInt8]) -> FileKind {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .image(mime: "image/png") }
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return .image(mime: "image/jpeg") }
    if bytes.starts(with: Array("GIF87a".utf8)) || bytes.starts(with: Array("GIF89a".utf8)) {
      return .image(mime: "image/gif")
    }
    if bytes.count >= 12, bytes.starts(with: Array("RIFF".utf8)), Array(bytes[8..<12]) == Array("WEBP".utf8) {
      return .image(mime: "image/webp")
    }
    return text(bytes)
  }

  /// Valid UTF-8 without control characters other than white space and colour codes.
  private static func text(_ bytes: [UInt8]) -> FileKind {
    let withoutMark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    let isPlain = withoutMark.allSatisfy { $0 >= 0x20 && $0 != 0x7F || [0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains($0) }
    guard isPlain, let text = String(validating: withoutMark, as: UTF8.self) else { return .other }
    return .text(text)
  }
}
