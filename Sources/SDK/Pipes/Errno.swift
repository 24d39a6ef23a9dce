import Glibc

/// A failed system call: which one, and why.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
  package let call: String
  package let code: Int32

  /// Takes `errno` when no code is given.
  package init(_ call: String, code: Int32 = errno) {
    self.call = call
    self.code = code
  }

  package var reason: String { String(cString: strerror(code)) }
  package var description: String { "\(call): \(reason)" }
}
