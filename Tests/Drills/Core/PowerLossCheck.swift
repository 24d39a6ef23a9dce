import FoundationEssentials
import RelayWire

/// Reads what a daemon read, wrote and flushed, and finds whatever it told the world of before it was on the disk: each
/// of these would be lost, or doubled, by a loss of power at that moment.
package struct PowerLossCheck {
  package private(set) var acknowledged = 0
  package private(set) var sent = 0
  package private(set) var violations: [String] = []

  private enum Kind { case read, written, flushed }

  private struct Entry {
    var kind: Kind
    var isLog: Bool
    var descriptor: Int32
    var bytes: ArraySlice<UInt8>
  }

  /// Tags of messages and keys of sends that are on the disk.
  private var durable: Set<String> = []
  private var unflushed: Set<String> = []
  private var lines: [Int32: [UInt8]] = [:]
  private var received: [Int: String] = [:]

  /// - Parameter ignoresFlushes: as if the disk had never been waited for, to see that this would be found.
  package init(_ trace: [UInt8], ignoresFlushes: Bool = false) {
    var rest = trace[...]
    while let entry = Self.next(&rest) {
      switch entry.kind {
      case .flushed where entry.isLog && !ignoresFlushes:
        durable.formUnion(unflushed)
        unflushed = []
      case .flushed: break
      case .written where entry.isLog: unflushed.formUnion(Self.tokens(in: entry.bytes))
      case .read where !entry.isLog: eachLine(entry) { $0.noteReceived($1) }
      case .written: eachLine(entry) { $0.judge($1) }
      case .read: break
      }
    }
  }

  private static func next(_ rest: inout ArraySlice<UInt8>) -> Entry? {
    guard rest.count >= 16 else { return nil }
    let head = Array(rest.prefix(16))
    let (descriptor, count) = head.withUnsafeBytes {
      ($0.loadUnaligned(fromByteOffset: 4, as: Int32.self), Int($0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
    rest = rest.dropFirst(16)
    defer { rest = rest.dropFirst(count) }
    let kind: Kind =
      switch head[0] {
      case UInt8(ascii: "r"): .read
      case UInt8(ascii: "w"): .written
      default: .flushed
      }
    return Entry(kind: kind, isLog: head[1] != 0, descriptor: descriptor, bytes: rest.prefix(count))
  }

  private mutating func eachLine(_ entry: Entry, _ body: (inout PowerLossCheck, String) -> Void) {
    // Reads and writes of one number never mix: it is a pipe's one end.
    var text = lines.removeValue(forKey: entry.descriptor) ?? []
    text += entry.bytes
    let parts = text.split(separator: 0x0A, omittingEmptySubsequences: false)
    for part in parts.dropLast() { body(&self, String(decoding: part, as: UTF8.self)) }
    lines[entry.descriptor] = Array(parts.last ?? [])
  }

  private mutating func noteReceived(_ line: String) {
    guard line.contains(#""method":"message.received""#), let id = Self.id(of: line),
      let tag = Self.tokens(in: Array(line.utf8)[...]).first(where: { $0.hasPrefix("<") })
    else { return }
    received[id] = tag
  }

  private mutating func judge(_ line: String) {
    if line.contains(#""stored":true"#), let id = Self.id(of: line), let tag = received[id] {
      acknowledged += 1
      if !durable.contains(tag) { violations.append("\(tag) was acknowledged before it was on the disk") }
    }
    for method in ["message.send", "dialog.show", "file.send"] where line.contains("\"method\":\"\(method)\"") {
      guard let key = Self.tokens(in: Array(line.utf8)[...]).first(where: { !$0.hasPrefix("<") }) else { continue }
      sent += 1
      if !durable.contains(key) { violations.append("\(method) \(key) was sent before it was on the disk") }
    }
  }

  private static func id(of line: String) -> Int? {
    line.firstRange(of: "\"id\":").flatMap { Int(line[$0.upperBound...].prefix { $0.isNumber }) }
  }

  /// `<c1.7>` and the 36 characters after `"key":"`.
  private static func tokens(in bytes: ArraySlice<UInt8>) -> [String] {
    var found: [String] = []
    let key = Array(#""key":""#.utf8)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      if bytes[index] == UInt8(ascii: "<"),
        let end = bytes[index...].prefix(16).firstIndex(of: UInt8(ascii: ">"))
      {
        found.append(String(decoding: bytes[index...end], as: UTF8.self))
      } else if bytes[index] == key[0], bytes[index...].starts(with: key) {
        found.append(String(decoding: bytes[index...].dropFirst(key.count).prefix(36), as: UTF8.self))
      }
      index += 1
    }
    return found
  }
}
