import Glibc

/// The bytes that another program pipes in.
enum StandardInput {
  static func readAll() -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = read(STDIN_FILENO, &chunk, chunk.count)
      if count > 0 {
        bytes += chunk[..<count]
      } else if count == 0 || errno != EINTR {
        return bytes
      }
    }
  }
}

enum StandardOutput {
  /// Writes at once: a person who watches a session must not wait for a buffer to fill.
  static func write(_ text: String) { writeAll(Array(text.utf8), to: STDOUT_FILENO) }

  /// Writes a line as it came from a bridge.
  static func write(line: [UInt8]) { writeAll(line + [UInt8(ascii: "\n")], to: STDOUT_FILENO) }
}

enum StandardError {
  static func say(_ words: String) { writeAll(Array("\(words)\n".utf8), to: STDERR_FILENO) }
}

/// Gives up at an error: there is no reader left.
private func writeAll(_ bytes: [UInt8], to descriptor: Int32) {
  var written = 0
  while written < bytes.count {
    let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + written, bytes.count - written) }
    if count > 0 { written += count } else if errno != EINTR { return }
  }
}
