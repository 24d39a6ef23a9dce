import Glibc

/// A failed system call: the operation and the reason.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
  package let operation: String
  /// The file or folder that `operation` is said of.
  package let path: String?
  package let code: Int32

  /// Takes `errno` when no code is given.
  package init(_ operation: String, path: String? = nil, code: Int32 = errno) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  package var reason: String { Self.reason(of: code) }

  package var description: String { (path.map { "\($0) " } ?? "") + "\(operation): \(reason)" }

  /// The system's name for an error code.
  package static func reason(of code: Int32 = errno) -> String { String(cString: strerror(code)) }
}
