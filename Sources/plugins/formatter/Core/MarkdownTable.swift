package import CMarkdown

/// A table of a Markdown text, as the Markdown library sees it.
package struct MarkdownTable: Equatable {
  package enum Alignment: Equatable { case left, center, right }

  /// Cells without their markup; the first row is the header.
  package var rows: [[String]] = []
  package var alignments: [Alignment] = []
  /// Where its first cell with a text begins in the source, in bytes: on the line of the header, or on the first of a
  /// row whose earlier cells are empty.
  var firstText = -1
  /// The row that cell is in.
  var firstTextRow = 0

  package init() {}
}

/// Finds the tables at the top level of a Markdown text.
enum MarkdownTables {
  private final class Collector: MarkdownVisitor {
    let source: UnsafeBufferPointer<CChar>
    var tables: [MarkdownTable] = []
    var depth = 0
    var current: MarkdownTable?
    var cell: String?

    init(_ source: UnsafeBufferPointer<CChar>) {
      self.source = source
    }

    func enter(block: MD_BLOCKTYPE, _ detail: UnsafeMutableRawPointer?) {
      switch block {
      case MD_BLOCK_QUOTE, MD_BLOCK_UL, MD_BLOCK_OL: depth += 1
      case MD_BLOCK_TABLE:
        if depth == 0 { current = MarkdownTable() }
      case MD_BLOCK_TR: current?.rows.append([])
      case MD_BLOCK_TH, MD_BLOCK_TD:
        cell = ""
        guard current?.rows.count == 1, let detail else { return }
        current?.alignments.append(MarkdownTable.Alignment(detail.load(as: MD_BLOCK_TD_DETAIL.self).align))
      default: break
      }
    }

    func leave(block: MD_BLOCKTYPE) {
      switch block {
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

    func text(_ type: MD_TEXTTYPE, _ pointer: UnsafePointer<CChar>, _ size: Int) {
      guard cell != nil, let base = source.baseAddress else { return }
      let offset = pointer - base
      // Some texts, such as a line break, are the library's own and stand nowhere in the source.
      if current?.firstText == -1, offset >= 0, offset < source.count {
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
  }

  static func find(in text: String) -> [MarkdownTable] {
    // No table without both; most text has neither.
    guard text.utf8.contains(UInt8(ascii: "|")), text.utf8.contains(UInt8(ascii: "-")) else { return [] }
    let flags = MD_FLAG_TABLES | MD_FLAG_NOHTML | MD_FLAG_STRIKETHROUGH
    return MarkdownParser.parse(text, flags: flags) { Collector($0) }?.tables ?? []
  }
}

extension MarkdownTable.Alignment {
  package init(_ align: MD_ALIGN) {
    switch align {
    case MD_ALIGN_CENTER: self = .center
    case MD_ALIGN_RIGHT: self = .right
    default: self = .left
    }
  }
}
