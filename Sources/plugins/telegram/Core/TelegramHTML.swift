internal import CMarkdown
internal import Formatter

/// Markdown as the few tags that Telegram knows, for servers without rich messages. What it has no tag for, as tables and lists,
/// becomes text; every other character is escaped.
///
/// https://core.telegram.org/bots/api#html-style
enum TelegramHTML {
  static func render(_ markdown: String) -> String {
    let flags = MD_FLAG_TABLES | MD_FLAG_NOHTML | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS
    let page = MarkdownParser.parse(markdown, flags: flags) { _ in HTMLPage() }
    return page?.html ?? escaped(markdown)
  }

  static func escaped(_ text: some StringProtocol) -> String {
    text.reduce(into: "") { html, character in
      switch character {
      case "&": html += "&amp;"
      case "<": html += "&lt;"
      case ">": html += "&gt;"
      case "\"": html += "&quot;"
      default: html.append(character)
      }
    }
  }
}

/// Writes one text.
private final class HTMLPage: MarkdownVisitor {
  private struct List {
    /// Of an ordered list.
    var number: Int?
  }

  private(set) var html = ""
  private var lists: [List] = []
  /// The depth of quotes, of which Telegram shows only the first.
  private var quotes = 0
  private var isInCode = false
  private var table: MarkdownTable?
  private var cell: String?
  private var links: [Bool] = []
  /// Line ends that come before the next text.
  private var gap = 0

  // MARK: - Blocks

  func enter(block: MD_BLOCKTYPE, _ detail: UnsafeMutableRawPointer?) {
    switch block {
    case MD_BLOCK_QUOTE:
      quotes += 1
      if quotes == 1 { add("<blockquote>") }
    case MD_BLOCK_UL: lists.append(List())
    case MD_BLOCK_OL: lists.append(List(number: Int(detail?.load(as: MD_BLOCK_OL_DETAIL.self).start ?? 1)))
    case MD_BLOCK_LI: beginItem(detail?.load(as: MD_BLOCK_LI_DETAIL.self))
    case MD_BLOCK_H: add("<b>")
    case MD_BLOCK_HR:
      add("———")
      end(2)
    case MD_BLOCK_CODE:
      isInCode = true
      let language = Self.text(detail?.load(as: MD_BLOCK_CODE_DETAIL.self).lang)
      add(language.isEmpty ? "<pre><code>" : "<pre><code class=\"language-\(TelegramHTML.escaped(language))\">")
    case MD_BLOCK_TABLE: table = MarkdownTable()
    case MD_BLOCK_TR: table?.rows.append([])
    case MD_BLOCK_TH, MD_BLOCK_TD:
      cell = ""
      if table?.rows.count == 1, let detail {
        table?.alignments.append(MarkdownTable.Alignment(detail.load(as: MD_BLOCK_TD_DETAIL.self).align))
      }
    default: break
    }
  }

  private func beginItem(_ detail: MD_BLOCK_LI_DETAIL?) {
    gap = html.isEmpty ? 0 : max(gap, 1)
    add(String(repeating: "  ", count: max(0, lists.count - 1)))
    if let detail, detail.is_task != 0 {
      add(detail.task_mark == 0x20 ? "☐ " : "☑ ")
    } else if let index = lists.indices.last, let number = lists[index].number {
      add("\(number). ")
      lists[index].number = number + 1
    } else {
      add("• ")
    }
  }

  func leave(block: MD_BLOCKTYPE) {
    switch block {
    case MD_BLOCK_QUOTE:
      quotes -= 1
      if quotes == 0 {
        html += "</blockquote>"
        end(2)
      }
    case MD_BLOCK_UL, MD_BLOCK_OL:
      lists.removeLast()
      end(lists.isEmpty ? 2 : 1)
    case MD_BLOCK_LI: end(1)
    case MD_BLOCK_H:
      html += "</b>"
      end(2)
    case MD_BLOCK_P: end(lists.isEmpty ? 2 : 1)
    case MD_BLOCK_CODE:
      isInCode = false
      if html.last == "\n" { html.removeLast() }
      html += "</code></pre>"
      end(2)
    case MD_BLOCK_TABLE:
      if let table { add("<pre>\(TelegramHTML.escaped(TableText.lines(of: table).joined(separator: "\n")))</pre>") }
      table = nil
      end(2)
    case MD_BLOCK_TH, MD_BLOCK_TD:
      if let cell, let last = table?.rows.indices.last { table?.rows[last].append(cell) }
      cell = nil
    default: break
    }
  }

  private func end(_ lines: Int) { gap = max(gap, lines) }

  private func add(_ text: String) {
    guard !text.isEmpty else { return }
    if !html.isEmpty, html.last != ">" || !html.hasSuffix("<blockquote>") {
      html += String(repeating: "\n", count: gap)
    }
    gap = 0
    html += text
  }

  // MARK: - Words

  func enter(span: MD_SPANTYPE, _ detail: UnsafeMutableRawPointer?) {
    guard cell == nil else { return }
    switch span {
    case MD_SPAN_A: begin(link: Self.text(detail?.load(as: MD_SPAN_A_DETAIL.self).href))
    case MD_SPAN_IMG: begin(link: Self.text(detail?.load(as: MD_SPAN_IMG_DETAIL.self).src))
    default: if let tag = Self.tag(span) { add("<\(tag)>") }
    }
  }

  func leave(span: MD_SPANTYPE) {
    guard cell == nil else { return }
    if span == MD_SPAN_A || span == MD_SPAN_IMG {
      if links.popLast() == true { html += "</a>" }
    } else if let tag = Self.tag(span) {
      html += "</\(tag)>"
    }
  }

  private static func tag(_ span: MD_SPANTYPE) -> String? {
    switch span {
    case MD_SPAN_EM: "i"
    case MD_SPAN_STRONG: "b"
    case MD_SPAN_DEL: "s"
    case MD_SPAN_CODE: "code"
    default: nil
    }
  }

  /// Telegram follows only these; the words of others stay.
  private func begin(link: String) {
    let isLink =
      ["https://", "http://", "mailto:"].contains { link.lowercased().hasPrefix($0) } && !links.contains(true)
    links.append(isLink)
    if isLink { add("<a href=\"\(TelegramHTML.escaped(link))\">") }
  }

  func text(_ type: MD_TEXTTYPE, _ pointer: UnsafePointer<CChar>, _ size: Int) {
    var text = String(decoding: UnsafeRawBufferPointer(start: pointer, count: size), as: UTF8.self)
    switch type {
    case MD_TEXT_NULLCHAR: return
    case MD_TEXT_BR, MD_TEXT_SOFTBR: text = cell == nil ? "\n" : " "
    default: break
    }
    guard cell == nil else {
      cell? += text
      return
    }
    // An entity of the text is one of Telegram's where it is a number or one of four names; the rest is shown as written.
    let isEntity =
      type == MD_TEXT_ENTITY && (text.hasPrefix("&#") || ["&lt;", "&gt;", "&amp;", "&quot;"].contains(text))
    add(isEntity ? text : TelegramHTML.escaped(text))
  }

  private static func text(_ attribute: MD_ATTRIBUTE?) -> String {
    guard let attribute, let pointer = attribute.text else { return "" }
    return String(decoding: UnsafeRawBufferPointer(start: pointer, count: Int(attribute.size)), as: UTF8.self)
  }
}
