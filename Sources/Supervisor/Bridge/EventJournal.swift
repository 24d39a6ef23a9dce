internal import BridgeProtocol
internal import FoundationEssentials
internal import Glibc
internal import RelayConcurrency
internal import RelayJSON
internal import RelayWire

/// The file of one session's latest events, whole: the only place where they are kept, so that sessions which nobody follows
/// cost no memory.
///
/// Each line is `{"ref":…,"event":…,"time":…,"data":…}`, with `"summary":true` where the data is a summary, and then the
/// `"bytes":…` of the whole event where these are known. Not synchronised: its owner calls it one call at a time, where
/// waiting for a disk does no harm.
final class EventJournal {
  private let path: String
  private let limits: BridgeLimits
  private var descriptor: Int32 = -1
  private var lines = 0
  private var bytes = 0
  private var nextRef = 1
  private var waiting: [UInt8] = []
  private var waitingLines = 0

  /// - Parameter path: of a file that may exist: one that the program before this one kept is continued.
  init(path: String, limits: BridgeLimits) {
    self.path = path
    self.limits = limits
  }

  deinit { if descriptor >= 0 { _ = close(descriptor) } }

  /// An event as the file has it.
  struct Record {
    let entry: BridgeHistory.Entry
    let data: [UInt8]
    /// Indicates that only a summary of the event is kept.
    let isSummary: Bool
    /// Bytes of the whole event, where it is summarised and they are known.
    let originalBytes: Int?
    /// The reason why the whole event is not kept.
    let problem: String?
  }

  // MARK: - Writing

  private static let bytesInOneWrite = 64 << 10

  /// Adds an event to those that `flush` writes.
  ///
  /// - Parameters:
  ///   - time: milliseconds since 1970.
  ///   - isSummary: the data is already a summary of the event, as where pi's line was too long to be read whole.
  /// - Returns: the event's number.
  func append(_ event: String, time: Int64, _ data: UnsafeRawBufferPointer, isSummary: Bool = false) throws -> Int {
    try open()
    let isTooLarge = limits.maxRawSpillBytes > 0 && data.count > limits.maxRawSpillBytes / 4
    // An older pi repeats the message in every update of it; only the update is news.
    let isRepetitive = event == "message_update" && data.count > limits.maxEventBytes
    JSONObjectText.append(to: &waiting) { line in
      line.add("ref", nextRef)
      line.add("event", event)
      line.add("time", Int(time))
      if !isSummary, !limits.spillRawEvents || isTooLarge || isRepetitive {
        line.add("summary", true)
        line.add("bytes", data.count)
        if isTooLarge {
          line.add("problem", "the event has \(data.count) bytes, more than a quarter of maxRawSpillBytes")
        }
        line.add("data", json: EventSummary(of: data, named: event, limits: limits).data)
      } else {
        if isSummary { line.add("summary", true) }
        line.add("data", json: data)
      }
    }
    waiting.append(UInt8(ascii: "\n"))
    waitingLines += 1
    defer { nextRef += 1 }
    if waiting.count >= Self.bytesInOneWrite { try flush() }
    return nextRef
  }

  /// Writes what was added, and makes room where the file holds far more than may be asked for.
  func flush() throws {
    guard waitingLines > 0 else { return }
    defer {
      // A burst uses the same memory again and again; one event after another needs none.
      waiting.removeAll(keepingCapacity: waiting.count >= Self.bytesInOneWrite)
      waitingLines = 0
    }
    try write(waiting, to: descriptor)
    lines += waitingLines
    bytes += waiting.count
    let mayBeTooLarge = limits.maxRawSpillBytes > 0 && bytes > limits.maxRawSpillBytes
    if lines > limits.historyLimit * 2 || mayBeTooLarge { try compact() }
  }

  private func open() throws {
    guard descriptor < 0 else { return }
    let opened = Glibc.open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard opened >= 0 else { throw SystemError("cannot be opened", path: path) }
    descriptor = opened
    let known = try entries()
    lines = known.count
    bytes = Int(lseek(descriptor, 0, SEEK_END))
    nextRef = (known.last?.ref ?? 0) + 1
  }

  /// Keeps the newest events, half of the file's limit of bytes at most.
  private func compact() throws {
    let newest = try entries().suffix(max(1, limits.historyLimit))
    let end = Int64(bytes)
    let room = Int64(limits.maxRawSpillBytes > 0 ? limits.maxRawSpillBytes / 2 : .max)
    let first = newest.first { end - $0.offset <= room } ?? newest.last
    guard let first else { return }
    let temporary = path + ".new"
    let copy = Glibc.open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard copy >= 0 else { throw SystemError("cannot be opened", path: temporary) }
    do {
      var offset = first.offset
      while offset < end {
        let piece = try read(at: offset, count: Int(min(end - offset, 64 * 1024)))
        guard !piece.isEmpty else { break }
        try write(piece, to: copy)
        offset += Int64(piece.count)
      }
      guard rename(temporary, path) == 0 else { throw SystemError("cannot be replaced", path: path) }
    } catch {
      _ = close(copy)
      _ = unlink(temporary)
      throw error
    }
    _ = close(descriptor)
    descriptor = copy
    lines = newest.count { $0.offset >= first.offset }
    bytes -= Int(first.offset)
  }

  private func write(_ bytes: [UInt8], to descriptor: Int32) throws {
    try bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = Glibc.write(descriptor, buffer.baseAddress! + done, buffer.count - done)
        if count >= 0 { done += count } else if errno != EINTR { throw SystemError("cannot be written", path: path) }
      }
    }
  }

  // MARK: - Reading

  /// The events of the file, oldest first. Every line is looked at by its beginning.
  func entries() throws -> [BridgeHistory.Entry] {
    try open()
    var entries: [BridgeHistory.Entry] = []
    var framer = LineFramer(maximumLineLength: .max)
    var offset: Int64 = 0
    var lineStart: Int64 = 0
    while true {
      let piece = try read(at: offset, count: 64 * 1024)
      if piece.isEmpty { return entries }
      offset += Int64(piece.count)
      piece.withUnsafeBytes { buffer in
        framer.feed(buffer) { framed in
          guard case .line(let line) = framed else { return }
          if let entry = Self.entry(line, at: lineStart) { entries.append(entry) }
          lineStart += Int64(line.count) + 1
        }
      }
    }
  }

  private static func entry(_ line: UnsafeRawBufferPointer, at offset: Int64) -> BridgeHistory.Entry? {
    var ref: Int?
    var event: String?
    var time: Int64?
    var cursor = JSONCursor(line)
    _ = cursor.members { key, cursor in
      let start = cursor.position
      if key.equals("event") {
        event = cursor.text()
      } else if key.equals("ref") || key.equals("time") {
        guard cursor.skipValue() else { return false }
        let number = Int64(String(decoding: line[start..<cursor.position], as: UTF8.self))
        if key.equals("ref") { ref = number.flatMap { Int(exactly: $0) } } else { time = number }
      }
      return ref == nil || event == nil || time == nil
    }
    guard let ref, let event, let time else { return nil }
    return BridgeHistory.Entry(ref: ref, event: event, time: time, offset: offset, length: line.count)
  }

  /// Reads an event of `entries`; `nil` where the file was changed by others.
  func record(_ entry: BridgeHistory.Entry) throws -> Record? {
    let line = try read(at: entry.offset, count: entry.length)
    return line.withUnsafeBytes { buffer in
      guard Self.entry(buffer, at: entry.offset)?.ref == entry.ref, let fields = JSONFields(buffer),
        let data = fields["data"]
      else { return nil }
      return Record(
        entry: entry, data: Array(data), isSummary: fields["summary"]?.equals("true") == true,
        originalBytes: fields["bytes"].flatMap { Int(String(decoding: $0, as: UTF8.self)) },
        problem: fields.text("problem"))
    }
  }

  private func read(at offset: Int64, count: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      while initialized < count {
        let got = pread(
          descriptor, buffer.baseAddress! + initialized, count - initialized, off_t(offset) + off_t(initialized))
        if got == 0 { break }
        if got > 0 { initialized += got } else if errno != EINTR { throw SystemError("cannot be read", path: path) }
      }
    }
  }
}
