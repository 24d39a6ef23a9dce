internal import FoundationEssentials
internal import Glibc
internal import RelayConcurrency
internal import RelayTransport

/// A log of lines with the time before each; a new file begins at a size, and a number of old ones is kept.
package final class LogFile: Sendable {
  package struct Limits: Sendable, Equatable {
    package var maximumBytes = 10 << 20
    /// Old files kept beside the current one: `name.log.1` is the newest.
    package var keep = 3
    package init() {}
  }

  private struct State {
    var descriptor: Int32 = -1
    var size = 0
    /// Lines that could not be written since the last one that could.
    var lost = 0
  }

  package let path: String
  private let limits: Limits
  private let report: @Sendable (String) -> Void
  private let state = Locked(State())

  /// - Parameter report: called once when the file cannot be written, and once when it can again.
  package init(path: String, limits: Limits, report: @escaping @Sendable (String) -> Void = { StandardError.say($0) }) {
    self.path = path
    self.limits = limits
    self.report = report
  }

  deinit {
    let descriptor = state.withLock { $0.descriptor }
    if descriptor >= 0 { _ = close(descriptor) }
  }

  package func write(_ text: String) {
    Array(text.utf8).withUnsafeBytes { write($0) }
  }

  /// Writes one line; may wait for the disk.
  package func write(_ line: UnsafeRawBufferPointer) {
    state.withLock { state in
      do throws(SystemError) {
        try open(&state)
        let prefix = Array("\(Self.timestamp()) ".utf8)
        var bytes = prefix
        bytes.reserveCapacity(prefix.count + line.count + 1)
        bytes.append(contentsOf: line)
        bytes.append(0x0A)
        if state.size > 0, state.size + bytes.count > limits.maximumBytes { try rotate(&state) }
        try append(bytes, &state)
        if state.lost > 0 {
          report("\(path) can be written again; \(state.lost) lines were lost before")
          state.lost = 0
        }
      } catch {
        if state.lost == 0 { report("\(path) cannot be written: \(error.reason); free space or fix its permissions") }
        state.lost += 1
      }
    }
  }

  private func open(_ state: inout State) throws(SystemError) {
    guard state.descriptor < 0 else { return }
    let descriptor = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError("open") }
    state.descriptor = descriptor
    state.size = Int(lseek(descriptor, 0, SEEK_END))
  }

  private func append(_ bytes: [UInt8], _ state: inout State) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { Glibc.write(state.descriptor, $0.baseAddress! + done, bytes.count - done) }
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemError("write")
      }
      done += count
      state.size += count
    }
  }

  private func rotate(_ state: inout State) throws(SystemError) {
    _ = close(state.descriptor)
    state.descriptor = -1
    if limits.keep > 0 {
      for number in stride(from: limits.keep - 1, through: 1, by: -1) {
        _ = rename("\(path).\(number)", "\(path).\(number + 1)")
      }
      _ = rename(path, "\(path).1")
    } else {
      _ = unlink(path)
    }
    try open(&state)
  }

  private static let timeStyle = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  /// UTC with milliseconds.
  static func timestamp(_ time: Date = .now) -> String { time.formatted(timeStyle) }
}
