internal import MessageDelivery
internal import RelayText
internal import RelayWire

/// A message of the agent on its way to a platform: the text that has arrived, the pieces that are fixed in finished
/// messages, and the message that still grows. A pure value.
struct AnswerBuffer: Codable, Equatable {
  /// Markdown that is not yet fixed in a finished message, after the text that must be reopened before it.
  private(set) var source = ""
  /// The number of the agent's message.
  private(set) var number = 0
  /// The platform's message that still grows.
  private(set) var message: String?
  /// The key of its record, while it grows.
  private(set) var key: String?
  /// The words before its text that say that it may be a repeat; empty for most.
  private(set) var mark = ""
  /// Text has arrived that the platform does not show.
  private(set) var isDirty = false
  /// The platform refuses further changes of the growing message.
  private(set) var editsRejected = false
  /// All text that has arrived of the agent's message.
  private var arrived = ""
  /// Text that is not to be shown before its line is whole.
  private var partialLine: String?
  /// The beginning of that line as it is shown already. A snapshot of an earlier version has none.
  private var shownOfLine: String?
  private var hasFixed = false
  /// The text that the growing message shows.
  private var shown = ""
  /// The text that could not be sent as the message's beginning, or may have arrived unseen.
  private var rejectedText: String?

  /// The finished message differs from its deltas.
  var isReplaced: Bool { !hasFixed && source != arrived }

  var isEmpty: Bool { source.isEmpty && partialLine == nil && message == nil }

  /// Text has arrived that a change of the growing message may show.
  var wantsEdit: Bool { isDirty && !editsRejected }

  func shows(_ text: String) -> Bool { text == shown }

  // MARK: - Text from the agent

  mutating func append(_ text: String) {
    source += text
    arrived += text
    isDirty = true
  }

  /// Adds text of which only the part may be shown that nothing which follows can make a part of a secret.
  mutating func append(_ text: String, through redaction: Redactor) {
    // A part of a line is left where the predecessor of this process had something to redact.
    guard !redaction.isEmpty || partialLine != nil else { return append(text) }
    let waiting = (partialLine ?? "") + text
    let end = redaction.settledEnd(of: waiting)
    if end > waiting.startIndex {
      appendRest(of: redaction.apply(to: String(waiting[..<end])))
      shownOfLine = nil
    }
    guard end < waiting.endIndex else { return partialLine = nil }
    let line = String(waiting[end...])
    partialLine = line
    // Only a word that has ended settles anything.
    guard text.contains(where: \.isWhitespace) else { return }
    let words = redaction.settledWords(of: line)
    if words.utf8.count > shownOfLine?.utf8.count ?? 0, appendRest(of: words) { shownOfLine = words }
  }

  /// Adds lines without the beginning that is shown already.
  ///
  /// - Returns: false where something else is shown.
  @discardableResult
  private mutating func appendRest(of lines: String) -> Bool {
    guard let shownOfLine else {
      append(lines)
      return true
    }
    guard lines.hasPrefix(shownOfLine) else { return false }
    append(String(lines.dropFirst(shownOfLine.count)))
    return true
  }

  /// Ends the text where it is: nothing more arrives.
  mutating func release(through redaction: Redactor) {
    if let partialLine { appendRest(of: redaction.apply(to: partialLine)) }
    partialLine = nil
    shownOfLine = nil
  }

  /// Adds the text that no delta brought, once the message is complete.
  ///
  /// - Parameter whole: the redacted text of the message.
  mutating func complete(with whole: String, through redaction: Redactor) {
    if whole.hasPrefix(arrived) {
      append(String(whole.dropFirst(arrived.count)))
    } else if !whole.isEmpty, !hasFixed {
      // The final message differs from its deltas; use the final message.
      source = whole
    } else {
      release(through: redaction)
    }
    partialLine = nil
    shownOfLine = nil
    isDirty = true
  }

  /// Begins the agent's next message.
  mutating func startNext() {
    let number = number + 1
    self = AnswerBuffer()
    self.number = number
  }

  // MARK: - Messages of the platform

  /// Notes that the text of now is on its way to the platform.
  mutating func beginFlush() { isDirty = false }

  /// Notes that the platform does not show the text after all.
  mutating func flushFailed() { isDirty = true }

  /// Notes that a piece is fixed in a finished message, so that the rest continues in the next.
  mutating func fix(_ piece: FormatRender.Piece, after consumedBefore: Int) {
    hasFixed = true
    editsRejected = false
    rejectedText = nil
    source = String(decoding: source.utf8.dropFirst(piece.consumed - consumedBefore), as: UTF8.self)
    message = nil
    key = nil
    mark = ""
    shown = ""
  }

  mutating func reopen(with text: String?) {
    if let text { source = text + source }
  }

  /// The mark for a new message with this text; `nil` where an earlier try with this text failed.
  func markForNew(_ text: String) -> String? {
    // A longer text may be tried, and says that it may repeat something.
    rejectedText == nil ? "" : text == rejectedText ? nil : MessageSender.repeatMark
  }

  /// Takes the message that was sent for the text.
  ///
  /// - Parameters:
  ///   - mark: the mark that the text was sent with.
  ///   - grows: later text changes the message.
  mutating func beginMessage(_ sent: MessageSender.Sent?, showing text: String, mark: String, grows: Bool) {
    message = sent?.message
    key = grows ? sent?.key : nil
    shown = text
    self.mark = sent?.mayBeRepeat == true ? MessageSender.repeatMark : ""
    if sent == nil {
      rejectedText = text
      editsRejected = true
    } else if !mark.isEmpty {
      self.mark = mark
    }
  }

  /// Takes a growing message of an earlier daemon, with all of its text.
  mutating func restore(_ sent: MessageSender.Sent, text: String) {
    startNext()
    message = sent.message
    key = sent.key
    mark = sent.mayBeRepeat ? MessageSender.repeatMark : ""
    append(text)
  }

  mutating func edited(to text: String) { shown = text }

  mutating func rejectEdits() { editsRejected = true }

  /// Notes that the last text of the growing message is recorded.
  mutating func endGrowth() { key = nil }
}
