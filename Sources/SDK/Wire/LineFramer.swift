#if canImport(Glibc)
  import Glibc
#endif

/// One thing found in a stream of lines. The bytes are valid only during the call that delivers them.
public enum FramedLine {
  /// A whole line without its `\n` and without one trailing `\r`. Empty lines are not delivered.
  case line(UnsafeRawBufferPointer)
  /// A line over the limit was skipped to its newline; `length` is what it held.
  case tooLong(length: Int)
  /// A line whose beginning was judged enough (see `LineFramer.judge`); the rest was dropped unread.
  case dismissed(length: Int)
  /// Bytes after the last newline when the stream ended. Not a message.
  case unfinished(UnsafeRawBufferPointer)
}

/// Cuts a byte stream into lines at `\n` and nowhere else: U+2028, U+2029, NEL and their kin are data in JSON.
///
/// Holds at most `maximumLineLength` bytes, and nothing between lines. Feed it chunks of any size.
public struct LineFramer {
  /// Longest line delivered, in bytes.
  public let maximumLineLength: Int
  /// A line that outgrows this many bytes before its newline is shown to `judge` once.
  public static let judgedLength = 64 * 1024

  private var tail: [UInt8] = []
  private var skipped = 0
  private var mode = Mode.collecting
  private var judged = false

  private enum Mode { case collecting, skippingTooLong, skippingDismissed }

  public init(maximumLineLength: Int) {
    self.maximumLineLength = maximumLineLength
  }

  /// Bytes of an unfinished line held now.
  public var heldBytes: Int { tail.count }

  /// The unfinished line, to be fed to another framer; nil while one is being skipped.
  public var unfinishedLine: [UInt8]? { mode == .collecting ? tail : nil }

  /// Takes the next chunk.
  ///
  /// - Parameters:
  ///   - judge: shown the beginning of a long line; answering `false` drops the rest of it unbuffered.
  ///   - deliver: called for each line found, in order.
  public mutating func feed(
    _ chunk: UnsafeRawBufferPointer,
    judge: (UnsafeRawBufferPointer) -> Bool = { _ in true },
    deliver: (FramedLine) -> Void
  ) {
    guard var cursor = chunk.baseAddress else { return }
    let end = cursor + chunk.count
    while cursor < end {
      let found = memchr(cursor, 0x0A, end - cursor)
      let stop = found.map { UnsafeRawPointer($0) } ?? end
      let piece = UnsafeRawBufferPointer(start: cursor, count: stop - cursor)
      if found != nil {
        // Most lines lie whole within a chunk: there is nothing to join, and nothing to put back.
        if mode == .collecting, tail.isEmpty { deliverLine(piece, deliver) } else { endLine(with: piece, deliver) }
        cursor = stop + 1
      } else {
        hold(piece, judge)
        cursor = end
      }
    }
  }

  /// Drops the line that is being gathered: it is delivered as too long when it ends.
  public mutating func skipLine() {
    if mode == .collecting, !tail.isEmpty { skip(tail.count, .skippingTooLong) }
  }

  /// The stream has ended: delivers what was left over, if anything.
  public mutating func finish(deliver: (FramedLine) -> Void) {
    if mode == .collecting {
      tail.withUnsafeBytes { if !$0.isEmpty { deliver(.unfinished($0)) } }
    }
    reset()
  }

  private mutating func endLine(with piece: UnsafeRawBufferPointer, _ deliver: (FramedLine) -> Void) {
    switch mode {
    case .skippingTooLong: deliver(.tooLong(length: skipped + piece.count))
    case .skippingDismissed: deliver(.dismissed(length: skipped + piece.count))
    case .collecting:
      if tail.count + piece.count > maximumLineLength {
        deliver(.tooLong(length: tail.count + piece.count))
      } else {
        tail.append(contentsOf: piece)
        tail.withUnsafeBytes { deliverLine($0, deliver) }
      }
    }
    reset()
  }

  private func deliverLine(_ bytes: UnsafeRawBufferPointer, _ deliver: (FramedLine) -> Void) {
    var count = bytes.count
    if count > maximumLineLength {
      deliver(.tooLong(length: count))
      return
    }
    if count > 0, bytes[count - 1] == 0x0D { count -= 1 }
    if count > 0 { deliver(.line(UnsafeRawBufferPointer(rebasing: bytes[..<count]))) }
  }

  private mutating func hold(_ piece: UnsafeRawBufferPointer, _ judge: (UnsafeRawBufferPointer) -> Bool) {
    guard mode == .collecting else {
      skipped += piece.count
      return
    }
    if tail.count + piece.count > maximumLineLength {
      skip(tail.count + piece.count, .skippingTooLong)
      return
    }
    tail.append(contentsOf: piece)
    if !judged, tail.count > Self.judgedLength {
      judged = true
      if !tail.withUnsafeBytes(judge) { skip(tail.count, .skippingDismissed) }
    }
  }

  private mutating func skip(_ count: Int, _ newMode: Mode) {
    skipped = count
    mode = newMode
    tail = []
  }

  private mutating func reset() {
    // A buffer that one giant line needed is given back rather than kept for the life of the stream.
    tail.removeAll(keepingCapacity: tail.capacity <= Self.judgedLength * 2)
    skipped = 0
    mode = .collecting
    judged = false
  }
}
