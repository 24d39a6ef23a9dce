package import RelayWire

/// pi's output from bytes to events. Deltas that arrive together become one piece of text: a burst costs little more
/// than its bytes.
package struct PiStream: Sendable {
  package enum Item: Sendable {
    /// Deltas since the last item, joined.
    case text(String)
    case event(PiEvent)
    /// A line over the limit was skipped; the length is in bytes.
    case tooLong(length: Int)
  }

  private var scanner = PiEventScanner()
  private var text = DeltaText()

  package init(wantsToolImages: Bool = false) {
    scanner.wantsToolImages = wantsToolImages
  }

  /// Whether pi repeats the whole message in every update (older releases); nil while unknown.
  package var sendsWholeMessages: Bool? { scanner.sendsWholeMessages }

  /// What the next reader of the same pi must know; nil in the middle of a character.
  package var dialect: Dialect? { text.isWhole ? Dialect(sendsWholeMessages: scanner.sendsWholeMessages) : nil }

  package struct Dialect: Codable, Sendable {
    var sendsWholeMessages: Bool?
  }

  package init(_ dialect: Dialect, wantsToolImages: Bool) {
    self.init(wantsToolImages: wantsToolImages)
    scanner.sendsWholeMessages = dialect.sendsWholeMessages
  }

  /// Takes what one read brought; answers what it held, in order.
  package mutating func read(_ chunk: UnsafeRawBufferPointer, with framer: inout LineFramer) -> [Item] {
    var items: [Item] = []
    framer.feed(
      chunk,
      judge: { beginning in
        let (keep, event) = scanner.judge(beginning, into: &text)
        if let event { add(event, to: &items) }
        return keep
      },
      deliver: { framed in
        switch framed {
        case .line(let line):
          if !scanner.takeDelta(line, into: &text), let event = scanner.scan(line, into: &text) {
            add(event, to: &items)
          }
        case .dismissed, .unfinished: break
        case .tooLong(let length): items.append(.tooLong(length: length))
        }
      })
    if let text = text.take() { items.append(.text(text)) }
    return items
  }

  private mutating func add(_ event: PiEvent, to items: inout [Item]) {
    if case .other = event { return }
    if let text = text.take() { items.append(.text(text)) }
    items.append(.event(event))
  }
}
