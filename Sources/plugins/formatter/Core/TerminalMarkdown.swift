internal import CMarkdown

/// Markdown as lines of a terminal: styled, wrapped to its width, and without any control sequence of the text itself.
package struct TerminalMarkdown: Sendable {
  private let columns: Int

  package init(columns: Int) {
    self.columns = columns
  }

  package func lines(of markdown: String) -> [TerminalLine] {
    let flags =
      MD_FLAG_TABLES | MD_FLAG_NOHTML | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_PERMISSIVEURLAUTOLINKS
    // Before the parser sees it: a tab or a control character must not decide what is markup.
    let text = TerminalText.harmless(markdown)
    return MarkdownParser.parse(text, flags: flags) { _ in TerminalPage(columns: columns) }?.lines ?? []
  }
}

/// Lays out one text.
private final class TerminalPage: MarkdownVisitor {
  /// A quote or an item of a list: the text before its first line, and before the others.
  private struct Container {
    var first: [TerminalCell]
    var rest: [TerminalCell]
    var isBegun = false
  }

  private struct List {
    var isTight: Bool
    /// Of an ordered list.
    var number: Int?
  }

  private(set) var lines: [TerminalLine] = []
  private let columns: Int
  private var containers: [Container] = []
  private var lists: [List] = []
  private var styles: [TerminalStyle] = []
  /// Addresses of the links and images that are open, and where in `content` their words begin.
  private var links: [(address: String, start: Int)] = []
  /// The words of the paragraph, heading, item or cell that is open.
  private var content: [TerminalCell] = []
  /// The text of a code block that is open.
  private var code: String?
  private var table: TerminalTable?
  /// The next block is set apart by an empty line.
  private var isApart = false

  init(columns: Int) {
    self.columns = max(columns, 20)
  }

  // MARK: - Blocks

  func enter(block: MD_BLOCKTYPE, _ detail: UnsafeMutableRawPointer?) {
    switch block {
    case MD_BLOCK_DOC, MD_BLOCK_THEAD, MD_BLOCK_TBODY: return
    case MD_BLOCK_TR:
      table?.rows.append([])
      return
    case MD_BLOCK_TH, MD_BLOCK_TD:
      if table?.rows.count == 1, let detail {
        table?.alignments.append(MarkdownTable.Alignment(detail.load(as: MD_BLOCK_TD_DETAIL.self).align))
      }
      styles.append(block == MD_BLOCK_TH ? .bold : [])
      return
    default: break
    }
    flush()
    if isApart { add([]) }
    isApart = false
    switch block {
    case MD_BLOCK_QUOTE:
      let bar = TerminalCell.cells("│ ", .dim)
      containers.append(Container(first: bar, rest: bar))
    case MD_BLOCK_UL:
      lists.append(List(isTight: detail?.load(as: MD_BLOCK_UL_DETAIL.self).is_tight != 0))
    case MD_BLOCK_OL:
      let list = detail?.load(as: MD_BLOCK_OL_DETAIL.self)
      lists.append(List(isTight: list?.is_tight != 0, number: Int(list?.start ?? 1)))
    case MD_BLOCK_LI: beginItem(detail?.load(as: MD_BLOCK_LI_DETAIL.self))
    case MD_BLOCK_H:
      let isFirstLevel = detail?.load(as: MD_BLOCK_H_DETAIL.self).level == 1
      styles.append(isFirstLevel ? [.bold, .underlined] : .bold)
    case MD_BLOCK_CODE: code = ""
    case MD_BLOCK_TABLE: table = TerminalTable()
    case MD_BLOCK_HR: add(TerminalCell.cells(String(repeating: "─", count: min(columns - prefixWidth, 40)), .dim))
    default: break
    }
  }

  private func beginItem(_ detail: MD_BLOCK_LI_DETAIL?) {
    var marker = "• "
    if let detail, detail.is_task != 0 {
      marker = detail.task_mark == 0x20 ? "☐ " : "☑ "
    } else if let index = lists.indices.last, let number = lists[index].number {
      marker = "\(number). "
      lists[index].number = number + 1
    }
    let space = TerminalCell.cells(String(repeating: " ", count: DisplayWidth.of(marker)))
    containers.append(Container(first: TerminalCell.cells(marker), rest: space))
  }

  func leave(block: MD_BLOCKTYPE) {
    switch block {
    case MD_BLOCK_DOC:
      flush()
      return
    case MD_BLOCK_THEAD, MD_BLOCK_TBODY, MD_BLOCK_TR: return
    case MD_BLOCK_TH, MD_BLOCK_TD:
      if let last = table?.rows.indices.last { table?.rows[last].append(content) }
      content = []
      styles.removeLast()
      return
    default: break
    }
    flush()
    switch block {
    case MD_BLOCK_LI:
      if containers.last?.isBegun == false { add([]) }
      containers.removeLast()
      return
    case MD_BLOCK_QUOTE: containers.removeLast()
    case MD_BLOCK_UL, MD_BLOCK_OL: lists.removeLast()
    case MD_BLOCK_H: styles.removeLast()
    case MD_BLOCK_CODE:
      // Unchanged, because a person who copies it wants only its own line breaks.
      let text = code ?? ""
      code = nil
      for line in (text.hasSuffix("\n") ? text.dropLast() : text[...]).split(
        separator: "\n", omittingEmptySubsequences: false)
      {
        add(TerminalCell.cells(line, .code))
      }
    case MD_BLOCK_TABLE:
      for line in table?.lines(within: columns - prefixWidth) ?? [] { add(line) }
      table = nil
    default: break
    }
    isApart = lists.last?.isTight != true
  }

  // MARK: - Words

  private var style: TerminalStyle { styles.reduce([]) { $0.union($1) } }

  func enter(span: MD_SPANTYPE, _ detail: UnsafeMutableRawPointer?) {
    switch span {
    case MD_SPAN_EM: styles.append(.italic)
    case MD_SPAN_STRONG: styles.append(.bold)
    case MD_SPAN_DEL: styles.append(.struck)
    case MD_SPAN_CODE: styles.append(.code)
    case MD_SPAN_A:
      styles.append(.underlined)
      links.append((Self.text(detail?.load(as: MD_SPAN_A_DETAIL.self).href), content.count))
    case MD_SPAN_IMG:
      styles.append(.underlined)
      links.append((Self.text(detail?.load(as: MD_SPAN_IMG_DETAIL.self).src), content.count))
    default: styles.append([])
    }
  }

  func leave(span: MD_SPANTYPE) {
    styles.removeLast()
    guard span == MD_SPAN_A || span == MD_SPAN_IMG, let link = links.popLast() else { return }
    // An address that is its own words, such as a bare one, is not repeated.
    let words = String(content[link.start...].map(\.character))
    guard !link.address.isEmpty, !link.address.hasSuffix(words) || words.isEmpty else { return }
    content += TerminalCell.cells((words.isEmpty ? "" : " ") + "(\(link.address))", style.union(.dim))
  }

  func text(_ type: MD_TEXTTYPE, _ pointer: UnsafePointer<CChar>, _ size: Int) {
    let text = String(decoding: UnsafeRawBufferPointer(start: pointer, count: size), as: UTF8.self)
    guard code == nil else {
      code? += text
      return
    }
    switch type {
    case MD_TEXT_NULLCHAR: break
    case MD_TEXT_BR, MD_TEXT_SOFTBR: content += TerminalCell.cells(table == nil ? "\n" : " ", style)
    case MD_TEXT_ENTITY: content += TerminalCell.cells(Self.entity(text), style)
    default: content += TerminalCell.cells(text, style)
    }
  }

  private static func text(_ attribute: MD_ATTRIBUTE?) -> String {
    guard let attribute, let pointer = attribute.text else { return "" }
    let bytes = UnsafeRawBufferPointer(start: pointer, count: Int(attribute.size))
    return TerminalText.harmless(String(decoding: bytes, as: UTF8.self))
  }

  /// Names that agents use; of others the text shows what was written.
  private static let entities = [
    "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "\"", "&apos;": "'", "&nbsp;": "\u{A0}", "&copy;": "©",
    "&hellip;": "…", "&mdash;": "—", "&ndash;": "–",
  ]

  private static func entity(_ text: String) -> String {
    guard text.hasPrefix("&#") else { return entities[text] ?? text }
    let digits = text.dropFirst(2).dropLast()
    let isHexadecimal = digits.first?.lowercased() == "x"
    let value = UInt32(isHexadecimal ? digits.dropFirst() : digits, radix: isHexadecimal ? 16 : 10)
    return value.flatMap(Unicode.Scalar.init).map { String($0) } ?? text
  }

  // MARK: - Lines

  private var prefixWidth: Int { containers.reduce(0) { $0 + $1.rest.width } }

  private func flush() {
    guard !content.isEmpty, table == nil else { return }
    for line in content.wrapped(to: max(10, columns - prefixWidth)) { add(line) }
    content = []
  }

  private func add(_ cells: [TerminalCell]) {
    var line: [TerminalCell] = []
    for index in containers.indices {
      line += containers[index].isBegun ? containers[index].rest : containers[index].first
      containers[index].isBegun = true
    }
    lines.append(TerminalLine((line + cells).trimmed, columns: columns))
  }
}
