import Glibc
import RelayConcurrency
import RelayWire

/// Opens a file that must lie beneath a folder, without following a link out of it.
enum SpoolFile {
  struct Failure: Error, Equatable, CustomStringConvertible {
    let description: String
  }

  /// The whole contents, at most `limit` bytes.
  static func read(_ path: String, beneath folder: String, limit: Int) throws(Failure) -> [UInt8] {
    let descriptor = try open(path, beneath: folder)
    defer { _ = close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Failure(description: "it is not a file")
    }
    guard status.st_size <= limit else { throw Failure(description: "it is larger than \(ByteCount(limit))") }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + done, $0.count - done) }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      done += count
    }
    return Array(bytes.prefix(done))
  }

  /// Opens one path component after another, and refuses links and "..", so that the file lies beneath the folder even
  /// if names change meanwhile.
  private static func open(_ path: String, beneath folder: String) throws(Failure) -> Int32 {
    guard path.hasPrefix(folder + "/") else { throw Failure(description: "it is outside the spool folder") }
    let names = path.dropFirst(folder.count + 1).split(separator: "/", omittingEmptySubsequences: true)
    guard !names.isEmpty, !names.contains(".."), !names.contains(".") else {
      throw Failure(description: "it is outside the spool folder")
    }
    var current = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    for (index, name) in names.enumerated() {
      guard current >= 0 else { break }
      let isLast = index == names.count - 1
      let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (isLast ? O_NONBLOCK : O_DIRECTORY)
      let next = openat(current, String(name), flags)
      let problem = errno
      _ = close(current)
      current = next
      errno = problem
    }
    guard current >= 0 else {
      throw Failure(description: errno == ELOOP ? "it is a link" : SystemError.reason())
    }
    return current
  }
}
