#if canImport(Glibc)
  import Glibc
#endif

/// An item in a stream of lines. The bytes are valid only during the call that delivers them.
public enum FramedLine {
  /// A whole line without its `\n` and without one trailing `\r`. Empty lines are not delivered.
  case line(UnsafeRawBufferPointer)
  /// A line over the limit was skipped to its newline; `length` is what it held.
  case tooLong(length: Int)
  /// A part of a line that was judged not to be needed (see `LineFramer.Verdict`) and dropped as it arrived.
  case dismissed(length: Int)
  /// Bytes after the last newline when the stream ended. Not a message.
  case unfinished(UnsafeRawBufferPointer)
}

/// Cuts a byte stream into lines at `
/// ` and nowhere else: U+2028, U+2029, NEL and similar characters are data in JSON.
///
/// Holds at most `maximumLineLength` bytes, and nothing between lines. Feed it chunks of any size.
public struct LineFramer {
  /// Longest line delivered, in bytes.
  public let maximumLineLength: Int
  /// The number of bytes of an unfinished line beyond which the line is shown to `judge`.
  public static let judgedLength = 64 * 1024

  private var tail: [UInt8] = []
  private var skipped = 0
  private var mode = Mode.collecting
  private var judged = false

  /// The decision about a long line, by its beginning.
  public enum Verdict: Equatable {
    /// The rest is needed: the line is delivered whole.
    case keep
    /// The JSON object that begins at this offset, and the bytes before it, are not needed. The bytes after the object
    /// are a line of their own.
    case dropObject(at: Int)
    /// The first bytes are not needed. The bytes after them are a line of their own.
    case drop(Int)
  }

  private enum Mode { case collecting, skippingTooLong, skippingObject(JSONObjectEnd) }

  public init(maximumLineLength: Int) {
    self.maximumLineLength = maximumLineLength
  }

  /// Bytes of an unfinished line held now.
  public var heldBytes: Int { tail.count }

  /// The unfinished line, to be fed to another framer; nil while one is being skipped.
  public var unfinishedLine: [UInt8]? { isCollecting ? tail : nil }

  private var isCollecting: Bool {
    if case .collecting = mode { true } else { false }
  }

  /// Takes the next chunk.
  ///
  /// - Parameters:
  ///   - judge: shown the beginning of a long line.
  ///   - deliver: called for each line found, in order.
  public mutating func feed(
    _ chunk: UnsafeRawBufferPointer,
    judge: (UnsafeRawBufferPointer) -> Verdict = { _ in .keep },
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
        if isCollecting, tail.isEmpty { deliverLine(piece, deliver) } else { endLine(with: piece, deliver) }
        cursor = stop + 1
      } else {
        hold(piece, judge, deliver)
        cursor = end
      }
    }
  }

  /// Drops the line that is being gathered: it is delivered as too long when it ends.
  public mutating func skipLine() {
    if isCollecting, !tail.isEmpty { skip(tail.count, .skippingTooLong) }
  }

  /// The stream has ended: delivers what was left over, if anything.
  public mutating func finish(deliver: (FramedLine) -> Void) {
    if isCollecting {
      tail.withUnsafeBytes { if !$0.isEmpty { deliver(.unfinished($0)) } }
    }
    reset()
  }

  private mutating func endLine(with piece: UnsafeRawBufferPointer, _ deliver: (FramedLine) -> Void) {
    switch mode {
    case .skippingTooLong: deliver(.tooLong(length: skipped + piece.count))
    case .skippingObject:
      let rest = skipObject(in: piece, deliver)
      if isCollecting { deliverLine(rest, deliver) } else { deliver(.dismissed(length: skipped)) }
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

  private mutating func hold(
    _ piece: UnsafeRawBufferPointer, _ judge: (UnsafeRawBufferPointer) -> Verdict, _ deliver: (FramedLine) -> Void
  ) {
    var piece = piece
    switch mode {
    case .skippingTooLong: skipped += piece.count
    case .skippingObject:
      piece = skipObject(in: piece, deliver)
      if isCollecting { hold(piece, judge, deliver) }
    case .collecting:
      if tail.count + piece.count > maximumLineLength { return skip(tail.count + piece.count, .skippingTooLong) }
      tail.append(contentsOf: piece)
      if !judged, tail.count > Self.judgedLength { judgeTail(judge, deliver) }
    }
  }

  /// Drops what is not needed of the line that is held, one part after another.
  private mutating func judgeTail(_ judge: (UnsafeRawBufferPointer) -> Verdict, _ deliver: (FramedLine) -> Void) {
    var start = 0
    while !judged, tail.count - start > Self.judgedLength {
      let verdict = tail.withUnsafeBytes { judge(UnsafeRawBufferPointer(rebasing: $0[start...])) }
      switch verdict {
      case .keep: judged = true
      case .drop(let count):
        deliver(.dismissed(length: count))
        start += count
      case .dropObject(let offset):
        var object = JSONObjectEnd()
        guard
          let end = tail.withUnsafeBytes({ object.find(in: UnsafeRawBufferPointer(rebasing: $0[(start + offset)...])) })
        else { return skip(tail.count - start, .skippingObject(object)) }
        deliver(.dismissed(length: offset + end))
        start += offset + end
      }
    }
    tail.removeFirst(start)
  }

  /// Continues to drop an object; returns the bytes after it, which the mode must collect next.
  private mutating func skipObject(
    in piece: UnsafeRawBufferPointer, _ deliver: (FramedLine) -> Void
  ) -> UnsafeRawBufferPointer {
    guard case .skippingObject(var object) = mode else { return piece }
    guard let end = object.find(in: piece) else {
      skip(skipped + piece.count, .skippingObject(object))
      return UnsafeRawBufferPointer(rebasing: piece[piece.count...])
    }
    deliver(.dismissed(length: skipped + end))
    reset()
    return UnsafeRawBufferPointer(rebasing: piece[end...])
  }

  private mutating func skip(_ count: Int, _ newMode: Mode) {
    skipped = count
    mode = newMode
    tail = []
  }

  private mutating func reset() {
    // A buffer of a very long line is freed, and not kept for the rest of the stream.
    tail.removeAll(keepingCapacity: tail.capacity <= Self.judgedLength * 2)
    skipped = 0
    mode = .collecting
    judged = false
  }
}
