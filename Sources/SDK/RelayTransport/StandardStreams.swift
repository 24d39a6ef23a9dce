import Glibc
package import RelayConcurrency

/// Takes standard input and output for the protocol.
package enum StandardStreams {
  /// Moves descriptors 0 and 1 to private numbers, leaves /dev/null and standard error in their place, and ignores
  /// SIGPIPE: a stray `print` then lands in the log instead of damaging the protocol.
  package static func takeOver() throws(SystemError) -> (input: Int32, output: Int32) {
    signal(SIGPIPE, SIG_IGN)
    let input = fcntl(0, F_DUPFD_CLOEXEC, 3)
    let output = fcntl(1, F_DUPFD_CLOEXEC, 3)
    guard input >= 0, output >= 0 else { throw SystemError("dup") }
    let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
    guard null >= 0, dup2(null, 0) == 0, dup2(2, 1) == 1 else { throw SystemError("dup2") }
    _ = close(null)
    return (input, output)
  }
}

/// Standard error, line by line: a plugin's log, a command's complaint.
package enum StandardError {
  /// Writes one line. Nothing can be done when it cannot be written.
  package static func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(2, bytes, bytes.count)
  }
}
