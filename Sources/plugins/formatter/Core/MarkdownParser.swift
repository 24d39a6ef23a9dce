package import CMarkdown

/// Receives what the Markdown library finds, in the order of the text.
package protocol MarkdownVisitor: AnyObject {
  func enter(block: MD_BLOCKTYPE, _ detail: UnsafeMutableRawPointer?)
  func leave(block: MD_BLOCKTYPE)
  func enter(span: MD_SPANTYPE, _ detail: UnsafeMutableRawPointer?)
  func leave(span: MD_SPANTYPE)
  func text(_ type: MD_TEXTTYPE, _ pointer: UnsafePointer<CChar>, _ size: Int)
}

extension MarkdownVisitor {
  package func enter(span: MD_SPANTYPE, _ detail: UnsafeMutableRawPointer?) {}
  package func leave(span: MD_SPANTYPE) {}
}

/// The Markdown library, for a visitor in place of its callbacks.
package enum MarkdownParser {
  /// A C callback carries one pointer, and a visitor is wider.
  private final class Context {
    let visitor: any MarkdownVisitor

    init(_ visitor: any MarkdownVisitor) { self.visitor = visitor }
  }

  /// - Parameter makeVisitor: gets the source, which the pointers of texts point into.
  package static func parse<Visitor: MarkdownVisitor>(
    _ text: String, flags: Int32, _ makeVisitor: (UnsafeBufferPointer<CChar>) -> Visitor
  ) -> Visitor? {
    var text = text
    return text.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) { source in
        guard let base = source.baseAddress else { return nil }
        let visitor = makeVisitor(source)
        let context = Context(visitor)
        var parser = MD_PARSER()
        parser.flags = UInt32(flags)
        parser.enter_block = { type, detail, user in
          MarkdownParser.visitor(user)?.enter(block: type, detail)
          return 0
        }
        parser.leave_block = { type, _, user in
          MarkdownParser.visitor(user)?.leave(block: type)
          return 0
        }
        parser.enter_span = { type, detail, user in
          MarkdownParser.visitor(user)?.enter(span: type, detail)
          return 0
        }
        parser.leave_span = { type, _, user in
          MarkdownParser.visitor(user)?.leave(span: type)
          return 0
        }
        parser.text = { type, pointer, size, user in
          if let pointer { MarkdownParser.visitor(user)?.text(type, pointer, Int(size)) }
          return 0
        }
        _ = md_parse(base, UInt32(source.count), &parser, Unmanaged.passUnretained(context).toOpaque())
        return visitor
      }
    }
  }

  private static func visitor(_ user: UnsafeMutableRawPointer?) -> (any MarkdownVisitor)? {
    user.map { Unmanaged<Context>.fromOpaque($0).takeUnretainedValue().visitor }
  }
}
