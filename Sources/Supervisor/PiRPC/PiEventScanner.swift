internal import CLinux
internal import Glibc
internal import RelayJSON
internal import RelayWire

/// Reads pi's event lines: the hot path. A text delta is found by position and passed on as bytes; whole messages are
/// decoded only where they are small and rare.
///
/// Both of pi's dialects are read; the events show which one it is.
package struct PiEventScanner: Sendable {
  /// Which dialect the stream speaks, once known.
  package internal(set) var sendsWholeMessages: Bool?
  /// Indicates that the images in tool results are wanted.
  package var wantsToolImages = false
  /// Where the usage ended in the last update.
  private var lastUsageEnd = 0

  package init() {}

  // The beginning of every update in current releases; the usage in between varies in length.
  private static let update: StaticString = #"{"type":"message_update","#
  private static let usage: StaticString = #""usage":{"#
  private static let delta: StaticString = #""assistantMessageEvent":{"type":"text_delta","contentIndex":"#
  private static let deltaAfterUsage: StaticString =
    #"},"assistantMessageEvent":{"type":"text_delta","contentIndex":"#
  /// How far into a line the usage may push the delta; beyond it the general way is taken.
  private static let searchWindow = 512

  /// Reads one line: a text delta goes into `text`, and nil is answered.
  package mutating func scan(_ line: UnsafeRawBufferPointer, into text: inout DeltaText) -> PiEvent? {
    takeDelta(line, into: &text) ? nil : generalScan(line, into: &text)
  }

  /// Takes a text delta of the usual shape into `text`; false for any other line, and for one that holds more than that.
  @inline(__always)
  package mutating func takeDelta(_ line: UnsafeRawBufferPointer, into text: inout DeltaText) -> Bool {
    guard line.starts(with: Self.update), let delta = fastDelta(line), isAlone(delta.range, in: line) else {
      return false
    }
    text.append(UnsafeRawBufferPointer(rebasing: line[delta.range]), escaped: delta.escaped)
    return true
  }

  /// Reports whether the line is the object of a delta and nothing else.
  private func isAlone(_ delta: Range<Int>, in line: UnsafeRawBufferPointer) -> Bool {
    let end = delta.upperBound + 1
    if sendsWholeMessages == false { return line.count == end + 2 && Self.has("}}", in: line, at: end) }
    return PiLine(line).isOneObject
  }

  /// Decides by its beginning whether a long object is needed whole. A delta at the beginning goes into `text` here.
  package mutating func judge(_ beginning: UnsafeRawBufferPointer, into text: inout DeltaText) -> (
    keep: Bool, event: PiEvent?
  ) {
    if beginning.starts(with: Self.update) {
      if let delta = fastDelta(beginning) {
        text.append(UnsafeRawBufferPointer(rebasing: beginning[delta.range]), escaped: delta.escaped)
        return (false, nil)
      }
      return (Self.find(#""text_delta""#, in: beginning, from: 0, within: 1_024) != nil, nil)
    }
    if beginning.starts(with: #"{"type":"agent_end""#) { return (false, .agentEnd(willRetry: nil)) }
    if beginning.starts(with: #"{"type":"turn_end""#) { return (false, nil) }
    if beginning.starts(with: #"{"type":"tool_execution_update""#) { return (false, nil) }
    if beginning.starts(with: #"{"type":"message_start","message":{"role":"user""#) {
      return (false, .messageStart(role: "user", text: nil))
    }
    if beginning.starts(with: #"{"type":"message_end","message":{"role":"user""#) { return (false, nil) }
    if beginning.starts(with: #"{"type":"message_end","message":{"role":"toolResult""#) { return (false, nil) }
    return (true, nil)
  }

  // MARK: - The fast way

  private mutating func fastDelta(_ line: UnsafeRawBufferPointer) -> (range: Range<Int>, escaped: Bool)? {
    guard var position = deltaIndex(line) else { return nil }
    while position < line.count, line[position] >= 0x30, line[position] <= 0x39 { position += 1 }
    guard Self.has(#","delta":"#, in: line, at: position) else { return nil }
    var cursor = JSONCursor(line, at: position + 9)
    guard let delta = cursor.string(), cursor.position < line.count else { return nil }
    sendsWholeMessages = line[cursor.position] == UInt8(ascii: ",")
    return delta
  }

  /// Where the content index of a text delta begins.
  private mutating func deltaIndex(_ line: UnsafeRawBufferPointer) -> Int? {
    // While a message streams, its usage stays as long as it is.
    if Self.has(Self.deltaAfterUsage, in: line, at: lastUsageEnd) {
      return lastUsageEnd + Self.deltaAfterUsage.utf8CodeUnitCount
    }
    let start = Self.update.utf8CodeUnitCount
    if Self.has(Self.delta, in: line, at: start) { return start + Self.delta.utf8CodeUnitCount }
    guard Self.has(Self.usage, in: line, at: start),
      let end = Self.find(Self.deltaAfterUsage, in: line, from: start, within: Self.searchWindow)
    else { return nil }
    lastUsageEnd = end
    return end + Self.deltaAfterUsage.utf8CodeUnitCount
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

  private mutating func generalScan(_ line: UnsafeRawBufferPointer, into text: inout DeltaText) -> PiEvent? {
    var type: String?
    var cursor = JSONCursor(line)
    let whole = cursor.members { key, cursor in
      if key.equals("type") {
        type = cursor.text()
        return false
      }
      return true
    }
    guard whole, let type else { return .noise(beginning: Self.beginning(of: line)) }
    if type == "message_update" { return generalUpdate(line, into: &text) }
    return PiEventDecoder.event(type, line, toolImages: wantsToolImages)
  }

  private mutating func generalUpdate(_ line: UnsafeRawBufferPointer, into text: inout DeltaText) -> PiEvent? {
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
    guard whole, isTextDelta, let delta else { return .other(type: "message_update") }
    sendsWholeMessages = partial
    text.append(UnsafeRawBufferPointer(rebasing: line[delta.range]), escaped: delta.escaped)
    return nil
  }

  static func beginning(of line: UnsafeRawBufferPointer) -> String {
    String(decoding: line.prefix(200), as: UTF8.self)
  }
}
