package import RelayWire

/// Packs rendered lines into messages of limited length. Cuts, in this order, at the end of a paragraph, of a line, of
/// a sentence, of a word, between characters; never inside a character. A code block that continues is closed and
/// opened again.
package struct Splitter {
  private let limit: Int
  private let unit: LengthUnit
  private var waiting: [RenderedLine]
  private var pieces: [FormatRender.Piece] = []
  private var lines: [RenderedLine] = []
  /// Length of `lines` joined, without what opens and closes the piece.
  private var length = 0

  /// Shortest limit that is obeyed: fences must fit too.
  package static let smallestLimit = 32

  private init(_ lines: [RenderedLine], limit: Int, unit: LengthUnit) {
    self.limit = max(Self.smallestLimit, limit)
    self.unit = unit
    waiting = lines.reversed()
  }

  /// Markdown → pieces of at most `limit`, counted in `unit` after rendering.
  package static func split(_ request: FormatRender) -> [FormatRender.Piece] {
    let lines = MarkdownRenderer.lines(of: request.text, final: request.final)
    var splitter = Splitter(lines, limit: request.limit, unit: request.unit)
    return splitter.run()
  }

  private mutating func run() -> [FormatRender.Piece] {
    while let line = waiting.popLast() {
      if lines.isEmpty, line.text.isEmpty, line.fence == nil {
        // Empty lines between messages show nothing.
        noteConsumed(line.consumed)
        continue
      }
      if fits(line) {
        add(line)
      } else {
        waiting.append(line)
        cut()
      }
    }
    endPiece()
    return pieces
  }

  // MARK: - Length

  /// The text before the first line when the piece begins inside a code block.
  private func opening(_ first: RenderedLine?) -> String {
    guard let first, !first.isFenceLine, let fence = first.fence else { return "" }
    // A long language name is not worth repeating in a short message.
    return (unit.isAtMost(limit / 4, fence.opener[...]) ? fence.opener : fence.closer) + "\n"
  }

  private func closing(_ last: RenderedLine?) -> String {
    guard let last else { return "" }
    if last.isFenceLine {
      // An opening fence at the end; the block's lines follow in the next piece.
      return last.reopen?.isEmpty == false ? "\n" + (Fence(opening: last.text)?.closer ?? "```") : ""
    }
    return last.fence.map { "\n" + $0.closer } ?? ""
  }

  private func frame(_ first: RenderedLine?, _ last: RenderedLine?) -> Int {
    unit.count(opening(first)) + unit.count(closing(last))
  }

  private func fits(_ line: RenderedLine) -> Bool {
    let room = limit - length - (lines.isEmpty ? 0 : 1) - frame(lines.first ?? line, line)
    return room >= 0 && unit.isAtMost(room, line.text)
  }

  private mutating func add(_ line: RenderedLine) {
    length += (lines.isEmpty ? 0 : 1) + unit.count(line.text)
    lines.append(line)
  }

  // MARK: - Cuts

  /// The next line does not fit: ends the piece at the best place, or cuts the line.
  private mutating func cut() {
    if let count = paragraphEnd() ?? lineEnd() {
      let rest = lines[count...]
      lines = Array(lines[..<count])
      waiting.append(contentsOf: rest.reversed())
      endPiece()
      return
    }
    guard let line = waiting.popLast() else { return }
    cutLine(line)
  }

  /// How many lines make whole paragraphs that fill at least half the limit.
  private func paragraphEnd() -> Int? {
    var used = length
    for index in lines.indices.reversed() {
      if used * 2 < limit { return nil }
      let isBreak = lines[index].fence == nil && !lines[index].isFenceLine && lines[index].text.isEmpty
      if isBreak, index > 0 { return index + 1 }
      used -= unit.count(lines[index].text) + 1
    }
    return nil
  }

  /// All lines, if they fill enough or the next line cannot be cut well anyway.
  private func lineEnd() -> Int? {
    guard !lines.isEmpty else { return nil }
    // A line that fits into a message of its own is better moved whole than cut.
    let nextFitsAlone = waiting.last.map { unit.isAtMost(limit - frame($0, $0), $0.text) } ?? true
    return nextFitsAlone || length * 10 >= limit * 3 ? usefulCount() : nil
  }

  /// Not an opening fence at the very end: it goes with its block.
  private func usefulCount() -> Int {
    var count = lines.count
    while count > 1, lines[count - 1].isFenceLine, lines[count - 1].reopen?.isEmpty == false { count -= 1 }
    return count
  }

  /// Cuts a line that is longer than a message.
  private mutating func cutLine(_ line: RenderedLine) {
    let room = max(1, limit - length - (lines.isEmpty ? 0 : 1) - frame(lines.first ?? line, line))
    let head = LineCut.head(of: line.text, room: room, unit: unit, mayBreakAtSpaces: line.fence == nil)
    var first = line
    var second = line
    first.text = head
    second.text = line.text[head.endIndex...]
    // Behind a rendered line, the source is shown only when all of it is.
    first.consumed = line.start.map { $0 + head.utf8.count } ?? lastConsumed
    if line.fence == nil { second.text = second.text.drop { $0 == " " } }
    second.start = line.start.map { $0 + line.text.utf8.count - second.text.utf8.count }
    add(first)
    waiting.append(second)
    endPiece()
  }

  private var lastConsumed: Int { lines.last?.consumed ?? pieces.last?.consumed ?? 0 }

  private mutating func endPiece() {
    defer {
      lines = []
      length = 0
    }
    guard let last = lines.last else { return }
    let body = lines.map(\.text).joined(separator: "\n")
    guard body.contains(where: { !$0.isWhitespace }) else {
      noteConsumed(last.consumed)
      return
    }
    let text = opening(lines.first) + body.trimmingTrailingWhitespace(last.fence == nil) + closing(last)
    let reopen = last.reopen ?? last.fence.map { $0.opener + "\n" }
    pieces.append(
      FormatRender.Piece(
        text: text, consumed: max(last.consumed, pieces.last?.consumed ?? 0),
        reopen: reopen?.isEmpty == false ? reopen : nil))
  }

  private mutating func noteConsumed(_ consumed: Int) {
    if let index = pieces.indices.last { pieces[index].consumed = max(consumed, pieces[index].consumed) }
  }
}

/// Where a line that is too long is cut.
enum LineCut {
  private static let sentenceEnds: Set<Character> = [".", "!", "?", "…", "。", "！", "？"]

  /// As much of the line as fits, up to the end of a sentence in the last half, else of a word in the last two thirds, else of
  /// a character.
  static func head(of text: Substring, room: Int, unit: LengthUnit, mayBreakAtSpaces: Bool) -> Substring {
    var length = 0
    var end = text.startIndex
    var sentence: (Substring.Index, Int)?
    var word: (Substring.Index, Int)?
    var previous: Character?
    for index in text.indices {
      let character = text[index]
      let size = unit.count(String(character))
      if length + size > room { break }
      if character == " ", mayBreakAtSpaces {
        word = (index, length)
        if let previous, sentenceEnds.contains(previous) { sentence = (index, length) }
      }
      length += size
      end = text.index(after: index)
      previous = character
    }
    if let (index, length) = sentence, length * 2 >= room { return text[..<index] }
    if let (index, length) = word, length * 3 >= room { return text[..<index] }
    if end > text.startIndex { return text[..<end] }
    return scalars(of: text, room: room, unit: unit)
  }

  /// A single character is longer than a message: a letter with thousands of marks. It is cut between scalars, because
  /// nothing could be sent otherwise.
  private static func scalars(of text: Substring, room: Int, unit: LengthUnit) -> Substring {
    var length = 0
    var end = text.startIndex
    for index in text.unicodeScalars.indices {
      length += unit.count(String(text.unicodeScalars[index]))
      if length > room, end > text.startIndex { break }
      end = text.unicodeScalars.index(after: index)
    }
    return text[..<end]
  }
}

extension LengthUnit {
  /// Reports whether a text is no longer than `room`, looking no further than needed.
  func isAtMost(_ room: Int, _ text: Substring) -> Bool {
    // No unit counts more than bytes.
    if text.utf8.count <= room { return true }
    switch self {
    case .utf8: return false
    case .utf16: return text.utf16.dropFirst(room).isEmpty
    case .scalars: return text.unicodeScalars.dropFirst(room).isEmpty
    case .graphemes: return text.dropFirst(room).isEmpty
    }
  }
}

extension String {
  func trimmingTrailingWhitespace(_ wanted: Bool) -> String {
    guard wanted else { return self }
    var text = self[...]
    while let last = text.last, last.isWhitespace { text = text.dropLast() }
    return String(text)
  }
}
