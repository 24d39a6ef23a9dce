import Glibc

/// Appends text to a file.
final class FileAppender {
  private let descriptor: Int32

  struct Failure: Error { let code: Int32 }

  init(_ path: String) throws(Failure) {
    descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 { throw Failure(code: errno) }
  }

  deinit { _ = close(descriptor) }

  func append(_ text: String) throws(Failure) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 { throw Failure(code: errno) }
      rest = rest.dropFirst(count)
    }
  }
}
