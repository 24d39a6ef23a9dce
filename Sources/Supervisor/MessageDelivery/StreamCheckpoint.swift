internal import FoundationEssentials
internal import Glibc
package import Logging
internal import RelayConcurrency
internal import RelayWire

/// The text that growing messages show, so that the next daemon can complete them.
///
/// One file for each, written before the platform shows the text and not flushed: a kill of this process does not reach
/// it. After the machine itself went down its contents may be torn, so they count only under the same boot.
package final class StreamCheckpoints: Sendable {
  package struct Saved: Equatable {
    package var text: String
    /// The message says that it may be a repeat.
    package var isMarked: Bool
  }

  private let folder: String
  private let boot: String
  private let logger: Logger

  /// - Parameter folder: of this daemon's own; made by `HomeDirectory`.
  package init(folder: String, boot: String? = nil, logger: Logger) {
    self.folder = folder
    self.logger = logger
    let data = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") ?? Data()
    self.boot = boot ?? String(decoding: data, as: UTF8.self).trimmingWhitespace()
  }

  private func path(_ key: String) -> String { "\(folder)/\(key)" }

  /// Creates the file of a message.
  ///
  /// - Returns: `nil` where it cannot be written: the message then keeps its shown text if this process is killed.
  package func begin(_ key: String) -> StreamCheckpoint? {
    let descriptor = open(path(key), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      logger.warning("\(SystemError("cannot be created", path: path(key)))")
      return nil
    }
    let checkpoint = StreamCheckpoint(descriptor, header: Array("\(boot)\n".utf8))
    guard checkpoint.isWhole else {
      logger.warning("\(path(key)) cannot be written: there may be no space on the disk")
      remove(key)
      return nil
    }
    return checkpoint
  }

  package func load(_ key: String) -> Saved? {
    guard let data = FileManager.default.contents(atPath: path(key)) else { return nil }
    let header = Array("\(boot)\n".utf8)
    guard data.count > header.count, data.starts(with: header) else { return nil }
    let rest = data.dropFirst(header.count)
    return Saved(
      text: String(decoding: rest.dropFirst(), as: UTF8.self), isMarked: rest.first == StreamCheckpoint.marked)
  }

  /// Sends under this key say from now on that they may be repeats.
  package func mark(_ key: String) {
    let descriptor = open(path(key), O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      return logger.warning("\(SystemError("cannot be marked", path: path(key)))")
    }
    defer { close(descriptor) }
    var mark = StreamCheckpoint.marked
    if pwrite(descriptor, &mark, 1, off_t(boot.utf8.count + 1)) != 1 { logger.warning("\(path(key)) cannot be marked") }
  }

  package func remove(_ key: String) { unlink(path(key)) }

  /// Removes the files of messages that are complete.
  package func sweep(keeping keys: Set<String>) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where !keys.contains(name) {
      remove(name)
    }
  }
}

/// The file of one growing message, open for as long as it grows.
///
/// `@unchecked`: its conversation's output is the only one to use it.
package final class StreamCheckpoint: @unchecked Sendable {
  static let marked = UInt8(ascii: "!")
  private static let unmarked = UInt8(ascii: ".")

  private let descriptor: Int32
  private let start: Int
  /// Its beginning is in the file.
  fileprivate let isWhole: Bool
  /// Bytes of the text that are in the file.
  private var written = 0

  fileprivate init(_ descriptor: Int32, header: [UInt8]) {
    self.descriptor = descriptor
    start = header.count + 1
    isWhole = pwrite(descriptor, header + [Self.unmarked], start, 0) == start
  }

  deinit { close(descriptor) }

  /// - Parameter text: the text that was written before, and more.
  /// - Returns: whether all of it is in the file.
  @discardableResult
  package func write(_ text: String) -> Bool {
    var text = text
    written += text.withUTF8 { bytes in
      guard bytes.count > written else { return 0 }
      return max(0, pwrite(descriptor, bytes.baseAddress! + written, bytes.count - written, off_t(start + written)))
    }
    return written >= text.utf8.count
  }

  package func mark() { _ = pwrite(descriptor, [Self.marked], 1, off_t(start - 1)) }
}
