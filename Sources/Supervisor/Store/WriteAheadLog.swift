internal import Glibc

/// Looks at SQLite's write-ahead log before SQLite does, which silently leaves out everything behind a damaged frame:
/// commits that messages were acknowledged for would be gone without a word.
///
/// The format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
enum WriteAheadLog {
  private static let headerLength = 32
  private static let frameHeaderLength = 24
  private static let smallestPage = 512

  /// - Throws: a description of the damage, where commits lie behind it.
  static func check(_ path: String) throws(StoreError) {
    let lost = commitsLost(path)
    if lost == 0 { return }
    throw StoreError(
      "\(path) is damaged: \(lost.map { "\($0) commits" } ?? "an unknown number of commits") lie behind the damage and "
        + "cannot be read; run: pi-relayd doctor --repair, which keeps the damaged file and saves everything before the damage"
    )
  }

  /// - Returns: the number of commits behind the damage; `nil` when it cannot be determined. A single one counts as
  ///   none: the last commit may have been incomplete when the machine went down, and was acknowledged to nobody.
  private static func commitsLost(_ path: String) -> Int? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return 0 }
    defer { close(file) }
    var header = [UInt8](repeating: 0, count: headerLength)
    guard pread(file, &header, headerLength, 0) == headerLength else { return 0 }
    guard let log = Header(header) else {
      // A header alone, or torn with the first frame, has nothing behind it.
      var next: UInt8 = 0
      return pread(file, &next, 1, off_t(headerLength + frameHeaderLength + smallestPage)) == 1 ? nil : 0
    }
    var frame = [UInt8](repeating: 0, count: frameHeaderLength + log.pageSize)
    var sum = log.checksum
    var (isWhole, commits) = (true, 0)
    var place = headerLength
    while pread(file, &frame, frame.count, off_t(place)) == frame.count {
      place += frame.count
      guard word(frame, 8) == log.salt.0, word(frame, 12) == log.salt.1 else {
        // A frame of the log before its last restart, or a damaged one, if frames of this log follow.
        isWhole = false
        continue
      }
      if isWhole {
        let whole = log.add(frame[frameHeaderLength...], to: log.add(frame[0..<8], to: sum))
        if whole == (word(frame, 16), word(frame, 20)) {
          sum = whole
          continue
        }
        isWhole = false
      }
      if word(frame, 4) != 0 { commits += 1 }
    }
    return commits > 1 ? commits : 0
  }

  private static func word(_ bytes: [UInt8], _ index: Int) -> UInt32 {
    bytes[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  private struct Header {
    let pageSize: Int
    let salt: (UInt32, UInt32)
    let checksum: (UInt32, UInt32)
    private let isBigEndian: Bool

    init?(_ bytes: [UInt8]) {
      let magic = word(bytes, 0)
      guard magic & ~1 == 0x377F_0682 else { return nil }
      isBigEndian = magic & 1 == 1
      pageSize = Int(word(bytes, 8))
      salt = (word(bytes, 16), word(bytes, 20))
      checksum = (word(bytes, 24), word(bytes, 28))
      guard pageSize >= 512, pageSize <= 65_536, add(bytes[0..<24], to: (0, 0)) == checksum else { return nil }
    }

    func add(_ bytes: ArraySlice<UInt8>, to sum: (UInt32, UInt32)) -> (UInt32, UInt32) {
      var (first, second) = sum
      bytes.withUnsafeBytes { bytes in
        for index in stride(from: 0, to: bytes.count, by: 8) {
          let (left, right) = (
            bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self),
            bytes.loadUnaligned(fromByteOffset: index + 4, as: UInt32.self)
          )
          first &+= (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ second
          second &+= (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ first
        }
      }
      return (first, second)
    }
  }
}
