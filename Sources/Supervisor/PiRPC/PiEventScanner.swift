internal import CLinux
internal import Glibc
internal import RelayWire

/// Reads pi's event lines: the hot path. A text delta is found by position and handed on as bytes; whole messages are
/// decoded only where they are small and rare.
///
/// Both of pi's dialects are understood, told apart by what arrives.
package struct PiEventScanner: Sendable {
  /// Which dialect the stream speaks, once known.
  package private(set) var sendsWholeMessages: Bool?
  /// Whether images in tool results are wanted.
  package var wantsToolImages = false
  /// Where the usage ended in the last update.
  private var lastUsageEnd = 0

  package init() {}

  package enum Scanned: Equatable {
    /// A text delta; the text was handed to `text`.
    case delta
    case event(PiEvent)
  }

  // What every update begins with in current releases; the usage in between varies in length.
  private static let update: StaticString = #"{"type":"message_update","#
  private static let usage: StaticString = #""usage":{"#
  private static let updateEvent: StaticString = #""assistantMessageEvent":{"type":""#
  private static let usageEnd: StaticString = #"},"assistantMessageEvent":{"type":""#
  private static let textDelta: StaticString = #"text_delta","contentIndex":"#
  /// How far into a line the usage may push the delta; beyond it the general way is taken.
  private static let searchWindow = 512

  /// Reads one line. `text` receives the still escaped bytes of a text delta.
  package mutating func scan(
    _ line: UnsafeRawBufferPointer, text: (_ raw: UnsafeRawBufferPointer, _ escaped: Bool) -> Void
  ) -> Scanned {
    if line.starts(with: Self.update), let delta = fastDelta(line) {
      text(UnsafeRawBufferPointer(rebasing: line[delta.range]), delta.escaped)
      return .delta
    }
    return generalScan(line, text: text)
  }

  /// Decides by its beginning whether a long line is needed whole. A delta at the beginning is handed on here.
  package mutating func judge(
    _ beginning: UnsafeRawBufferPointer, text: (_ raw: UnsafeRawBufferPointer, _ escaped: Bool) -> Void
  ) -> (keep: Bool, event: PiEvent?) {
    if beginning.starts(with: Self.update) {
      if let delta = fastDelta(beginning) {
        text(UnsafeRawBufferPointer(rebasing: beginning[delta.range]), delta.escaped)
        return (false, nil)
      }
      return (Self.find(#""text_delta""#, in: beginning, from: 0, within: 1_024) != nil, nil)
    }
    if beginning.starts(with: #"{"type":"agent_end""#) { return (false, .agentEnd(willRetry: nil)) }
    if beginning.starts(with: #"{"type":"turn_end""#) { return (false, nil) }
    if beginning.starts(with: #"{"type":"tool_execution_update""#) { return (false, nil) }
    if beginning.starts(with: #"{"type":"message_start","message":{"role":"user""#) {
      return (false, .messageStart(role: "user"))
    }
    if beginning.starts(with: #"{"type":"message_end","message":{"role":"user""#) { return (false, nil) }
    if beginning.starts(with: #"{"type":"message_end","message":{"role":"toolResult""#) { return (false, nil) }
    return (true, nil)
  }

  // MARK: - The fast way

  private mutating func fastDelta(_ line: UnsafeRawBufferPointer) -> (range: Range<Int>, escaped: Bool)? {
    var position = Self.update.utf8CodeUnitCount
    if Self.has(Self.usage, in: line, at: position) {
      // While a message streams, its usage stays as long as it is.
      if !Self.has(Self.usageEnd, in: line, at: lastUsageEnd) {
        guard let end = Self.find(Self.usageEnd, in: line, from: position, within: Self.searchWindow) else {
          return nil
        }
        lastUsageEnd = end
      }
      position = lastUsageEnd + 2
    }
    guard Self.has(Self.updateEvent, in: line, at: position) else { return nil }
    position += Self.updateEvent.utf8CodeUnitCount
    guard Self.has(Self.textDelta, in: line, at: position) else { return nil }
    position += Self.textDelta.utf8CodeUnitCount
    while position < line.count, line[position] >= 0x30, line[position] <= 0x39 { position += 1 }
    guard Self.has(#","delta":"#, in: line, at: position) else { return nil }
    var cursor = JSONCursor(line, at: position + 9)
    guard let delta = cursor.string(), cursor.position < line.count else { return nil }
    sendsWholeMessages = line[cursor.position] == UInt8(ascii: ",")
    return delta
  }

  private static func has(_ text: StaticString, in line: UnsafeRawBufferPointer, at position: Int) -> Bool {
    let count = text.utf8CodeUnitCount
    guard position + count <= line.count, let base = line.baseAddress else { return false }
    return memcmp(base + position, text.utf8Start, count) == 0
  }

  private static func find(
    _ text: StaticString, in line: UnsafeRawBufferPointer, from start: Int, within window: Int
  ) -> Int? {
    guard let base = line.baseAddress, start < line.count else { return nil }
    let count = min(line.count - start, window)
    guard let found = relay_find(base + start, count, text.utf8Start, text.utf8CodeUnitCount) else { return nil }
    return found - base
  }

  // MARK: - The general way

  private mutating func generalScan(
    _ line: UnsafeRawBufferPointer, text: (_ raw: UnsafeRawBufferPointer, _ escaped: Bool) -> Void
  ) -> Scanned {
    var type: String?
    var cursor = JSONCursor(line)
    let whole = cursor.members { key, cursor in
      if key.equals("type") {
        type = cursor.text()
        return false
      }
      return true
    }
    guard whole, let type else { return .event(.noise(beginning: Self.beginning(of: line))) }
    if type == "message_update" { return generalUpdate(line, text: text) }
    return .event(PiEventDecoder.event(type, line, toolImages: wantsToolImages))
  }

  private mutating func generalUpdate(
    _ line: UnsafeRawBufferPointer, text: (_ raw: UnsafeRawBufferPointer, _ escaped: Bool) -> Void
  ) -> Scanned {
    var isTextDelta = false
    var delta: (range: Range<Int>, escaped: Bool)?
    var partial = false
    var cursor = JSONCursor(line)
    let whole = cursor.members { key, cursor in
      guard key.equals("assistantMessageEvent") else { return true }
      return cursor.members { key, cursor in
        if key.equals("type") {
          isTextDelta = cursor.text() == "text_delta"
        } else if key.equals("delta") {
          delta = cursor.string()
        } else if key.equals("partial") {
          partial = true
        }
        return true
      }
    }
    guard whole, isTextDelta, let delta else { return .event(.other(type: "message_update")) }
    sendsWholeMessages = partial
    text(UnsafeRawBufferPointer(rebasing: line[delta.range]), delta.escaped)
    return .delta
  }

  static func beginning(of line: UnsafeRawBufferPointer) -> String {
    String(decoding: line.prefix(200), as: UTF8.self)
  }
}
