import CMarkdown

/// A table of a Markdown text, as the Markdown library sees it.
struct MarkdownTable: Equatable {
  enum Alignment: Equatable { case left, center, right }

  /// Cells without their markup; the first row is the header.
  var rows: [[String]]
  var alignments: [Alignment]
  /// Where its first cell with a text begins in the source, in bytes: on the line of the header, or on the first of a
  /// row whose earlier cells are empty.
  var firstText: Int
  /// The row that cell is in.
  var firstTextRow: Int
}

/// Finds the tables at the top level of a Markdown text.
enum MarkdownTables {
  private final class Collector {
    let base: UnsafePointer<CChar>
    let count: Int
    var tables: [MarkdownTable] = []
    var depth = 0
    var current: MarkdownTable?
    var cell: String?

    init(base: UnsafePointer<CChar>, count: Int) {
      self.base = base
      self.count = count
    }

    func enter(_ type: MD_BLOCKTYPE, _ detail: UnsafeMutableRawPointer?) {
      switch type {
      case MD_BLOCK_QUOTE, MD_BLOCK_UL, MD_BLOCK_OL: depth += 1
      case MD_BLOCK_TABLE:
        if depth == 0 { current = MarkdownTable(rows: [], alignments: [], firstText: -1, firstTextRow: 0) }
      case MD_BLOCK_TR: current?.rows.append([])
      case MD_BLOCK_TH, MD_BLOCK_TD:
        cell = ""
        guard current?.rows.count == 1, let detail else { return }
        current?.alignments.append(Self.alignment(detail.load(as: MD_BLOCK_TD_DETAIL.self).align))
      default: break
      }
    }

    func leave(_ type: MD_BLOCKTYPE) {
      switch type {
      case MD_BLOCK_QUOTE, MD_BLOCK_UL, MD_BLOCK_OL: depth -= 1
      case MD_BLOCK_TABLE:
        if let table = current, table.firstText >= 0 { tables.append(table) }
        current = nil
      case MD_BLOCK_TH, MD_BLOCK_TD:
        if let cell, let last = current?.rows.indices.last { current?.rows[last].append(cell) }
        cell = nil
      default: break
      }
    }

    func text(_ type: MD_TEXTTYPE, _ pointer: UnsafePointer<CChar>?, _ size: Int) {
      guard cell != nil, let pointer else { return }
      let offset = pointer - base
      // Some texts, such as a line break, are the library's own and stand nowhere in the source.
      if current?.firstText == -1, offset >= 0, offset < count {
        let row = (current?.rows.count ?? 1) - 1
        current?.firstText = offset
        current?.firstTextRow = row
      }
      switch type {
      case MD_TEXT_BR, MD_TEXT_SOFTBR: cell?.append(" ")
      case MD_TEXT_NULLCHAR: break
      default:
        let bytes = UnsafeRawBufferPointer(start: pointer, count: size)
        cell?.append(String(decoding: bytes, as: UTF8.self))
      }
    }

    private static func alignment(_ align: MD_ALIGN) -> MarkdownTable.Alignment {
      switch align {
      case MD_ALIGN_CENTER: .center
      case MD_ALIGN_RIGHT: .right
      default: .left
      }
    }
  }

  static func find(in text: String) -> [MarkdownTable] {
    // No table without both; most text has neither.
    guard text.utf8.contains(UInt8(ascii: "|")), text.utf8.contains(UInt8(ascii: "-")) else { return [] }
    var text = text
    return text.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) { source in
        guard let base = source.baseAddress else { return [] }
        let collector = Collector(base: base, count: source.count)
        var parser = MD_PARSER()
        parser.flags = UInt32(MD_FLAG_TABLES | MD_FLAG_NOHTML | MD_FLAG_STRIKETHROUGH)
        parser.enter_block = { type, detail, user in
          MarkdownTables.collector(user)?.enter(type, detail)
          return 0
        }
        parser.leave_block = { type, _, user in
          MarkdownTables.collector(user)?.leave(type)
          return 0
        }
        parser.enter_span = { _, _, _ in 0 }
        parser.leave_span = { _, _, _ in 0 }
        parser.text = { type, pointer, size, user in
          MarkdownTables.collector(user)?.text(type, pointer, Int(size))
          return 0
        }
        _ = md_parse(base, UInt32(source.count), &parser, Unmanaged.passUnretained(collector).toOpaque())
        return collector.tables
      }
    }
  }

  private static func collector(_ user: UnsafeMutableRawPointer?) -> Collector? {
    user.map { Unmanaged<Collector>.fromOpaque($0).takeUnretainedValue() }
  }
}
