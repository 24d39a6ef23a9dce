internal import RelayText
internal import RelayWire

/// The text of one message of the agent on its way to a platform: what has been fixed in finished messages, and what
/// is still growing. A pure value.
struct StreamedText: Codable {
  /// Markdown not yet fixed in a finished message, with what must be reopened before it.
  private(set) var source = ""
  /// All that has arrived of this message.
  private var arrived = ""
  /// Arrived, and not to be shown before its line is whole.
  private var withheld: String?
  private var hasFixed = false
  /// The platform's message that still grows, and what it shows.
  var message: String?
  /// What it was sent under, while it grows.
  var key: String?
  /// Goes before the text for as long as the message grows.
  var mark = ""
  var shown = ""
  private(set) var isDirty = false
  /// The platform refuses further changes of the growing message.
  var isStuck = false
  /// What could not be sent as the message's beginning, or may have arrived without anybody knowing.
  var setAside: String?

  /// The finished message was not what the deltas said.
  var isReplaced: Bool { !hasFixed && source != arrived }

  var isEmpty: Bool { source.isEmpty && withheld == nil && message == nil }

  mutating func append(_ text: String) {
    source += text
    arrived += text
    isDirty = true
  }

  /// The same where what is shown is looked through before, which needs whole lines.
  mutating func append(_ text: String, through redaction: Redaction) {
    // Of a program that had something to redact.
    guard !redaction.isEmpty || withheld != nil else { return append(text) }
    let waiting = (withheld ?? "") + text
    let newline = waiting.utf8.lastIndex(of: UInt8(ascii: "\n"))
    let end = newline.map { waiting.utf8.index(after: $0) } ?? waiting.startIndex
    if end > waiting.startIndex { append(redaction.apply(to: String(waiting[..<end]))) }
    withheld = end < waiting.endIndex ? String(waiting[end...]) : nil
  }

  /// Nothing more comes.
  mutating func release(through redaction: Redaction) {
    if let withheld { append(redaction.apply(to: withheld)) }
    withheld = nil
  }

  /// The message is complete: adds what no delta brought.
  ///
  /// - Parameter whole: looked through.
  mutating func complete(with whole: String, through redaction: Redaction) {
    if whole.hasPrefix(arrived) {
      append(String(whole.dropFirst(arrived.count)))
    } else if !whole.isEmpty, !hasFixed {
      // The deltas were not the whole truth; the finished message is.
      source = whole
    } else {
      release(through: redaction)
    }
    withheld = nil
    isDirty = true
  }

  /// What is on the platform now is what there is.
  mutating func clean() { isDirty = false }

  /// A piece has been fixed in a finished message: the rest goes on in the next.
  mutating func fix(_ piece: FormatRender.Piece, after consumedBefore: Int) {
    hasFixed = true
    isStuck = false
    setAside = nil
    source = String(decoding: source.utf8.dropFirst(piece.consumed - consumedBefore), as: UTF8.self)
    message = nil
    key = nil
    mark = ""
    shown = ""
  }

  mutating func reopen(with text: String?) {
    if let text { source = text + source }
  }
}
