internal import Glibc
package import RelayConcurrency

/// The replacement of a small file in one step: a crash leaves the old file or the new one.
package enum FileReplacement {
  /// Writes the text to a new file that nobody else may read, and puts it in place. A link stays a link.
  ///
  /// - Throws: the system's reason; the old file is then as it was.
  package static func write(_ text: String, to name: String) throws(SystemError) {
    try write(text, to: name, with: { Glibc.write($0, $1, $2) })
  }

  /// - Parameter write: write(2).
  static func write(
    _ text: String, to name: String, with write: (Int32, UnsafeRawPointer?, Int) -> Int
  ) throws(SystemError) {
    let path =
      realpath(name, nil).map { real in
        defer { free(real) }
        return String(cString: real)
      } ?? name
    let part = "\(path).\(getpid())"
    let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError("cannot be made", path: part) }
    defer { _ = close(descriptor) }
    guard writeAll(Array(text.utf8), to: descriptor, with: write), fsync(descriptor) == 0, rename(part, path) == 0
    else {
      let error = SystemError("cannot be written", path: path)
      unlink(part)
      throw error
    }
  }

  /// Writes everything, in as many calls as it takes: the call after a short one has the reason in `errno`.
  private static func writeAll(
    _ bytes: [UInt8], to descriptor: Int32, with write: (Int32, UnsafeRawPointer?, Int) -> Int
  ) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
        if count > 0 {
          done += count
        } else if count == 0 {
          errno = EIO
          return false
        } else if errno != EINTR {
          return false
        }
      }
      return true
    }
  }
}
