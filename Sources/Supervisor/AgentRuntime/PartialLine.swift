internal import Glibc
internal import RelayConcurrency

/// The end of a file that is not a whole line.
package struct PartialLine: Equatable {
  private let path: String
  /// Where it begins, and where the file ends.
  private let start: off_t
  private let end: off_t

  /// Finds the partial line. The result is `nil` when the file ends with a whole line, has no line, or cannot be read.
  package init?(of path: String) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { _ = close(descriptor) }
    self.path = path
    end = lseek(descriptor, 0, SEEK_END)
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    var place = end
    while place > 0 {
      let from = max(0, place - off_t(buffer.count))
      let count = pread(descriptor, &buffer, Int(place - from), from)
      guard count > 0 else { return nil }
      if let newline = buffer[..<count].lastIndex(of: 0x0A) {
        start = from + off_t(newline) + 1
        guard start < end else { return nil }
        return
      }
      place = from
    }
    return nil
  }

  package func cut() throws(AgentUnavailable) {
    guard truncate(path, start) == 0 else {
      let failure = SystemError("ends in the middle of a line and cannot be trimmed", path: path)
      throw AgentUnavailable(description: failure.description)
    }
  }
}
