package import RelayJSON
internal import RelayWire

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
  /// The beginning of the noise that is being read was reported.
  private var isInNoise = false
  /// `nil` while nobody follows the events as pi writes them.
  package var recording: EventRecording?

  package init(wantsToolImages: Bool = false) {
    scanner.wantsToolImages = wantsToolImages
  }

  /// Indicates that pi repeats the whole message in every update (older releases); `nil` while unknown.
  package var sendsWholeMessages: Bool? { scanner.sendsWholeMessages }

  /// The facts that the next reader of the same pi needs; `nil` in the middle of a character.
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
        // Other text may stand before the object.
        let line = PiLine(beginning)
        guard let start = isInNoise ? line.beginning(from: 0) : line.firstObject else {
          addNoise(beginning[...], to: &items)
          isInNoise = true
          // The beginning of an object may be cut.
          return .drop(beginning.count - PiLine.maximumBeginning)
        }
        let object = UnsafeRawBufferPointer(rebasing: beginning[start...])
        let (keep, event) = scanner.judge(object, into: &text)
        if keep { return .keep }
        if recording != nil { record(beginning: object) }
        if start > 0 { addNoise(beginning[..<start], to: &items) }
        isInNoise = false
        if let event { add(event, to: &items) }
        return .dropObject(at: start)
      },
      deliver: { framed in
        switch framed {
        case .line(let line):
          if !scanner.takeDelta(line, into: &text) {
            read(line, into: &items)
          } else if recording?.includesUpdates == true {
            recording?.append(line)
          }
        case .dismissed, .unfinished: break
        case .tooLong(let length):
          isInNoise = false
          items.append(.tooLong(length: length))
        }
      })
    if let text = text.take() { items.append(.text(text)) }
    return items
  }

  /// Takes the bytes after the last newline, when output has ended: a whole object among them was written by pi.
  package mutating func readUnfinished(_ line: UnsafeRawBufferPointer) -> [Item] {
    var items: [Item] = []
    read(line, into: &items)
    if let text = text.take() { items.append(.text(text)) }
    return items
  }

  private mutating func read(_ line: UnsafeRawBufferPointer, into items: inout [Item]) {
    for part in PiLine(line).parts {
      switch part {
      case .object(let range):
        isInNoise = false
        let object = UnsafeRawBufferPointer(rebasing: line[range])
        let event = scanner.scan(object, into: &text)
        if let event { add(event, to: &items) }
        if recording != nil { record(object, event) }
      case .noise(let range): addNoise(line[range], to: &items)
      }
    }
    isInNoise = false
  }

  // MARK: - Recording

  private mutating func record(_ object: UnsafeRawBufferPointer, _ event: PiEvent?) {
    switch event {
    // Answers to commands are no events.
    case .response, .noise: break
    case nil, .other(type: "message_update"): if recording?.includesUpdates == true { recording?.append(object) }
    default: recording?.append(object)
    }
  }

  private mutating func record(beginning: UnsafeRawBufferPointer) {
    let isUpdate = beginning.starts(with: #"{"type":"message_update""#)
    if !isUpdate || recording?.includesUpdates == true { recording?.append(beginning: beginning) }
  }

  /// The events recorded since the last call, a line each; empty while nobody follows them.
  package mutating func takeRecorded() -> [UInt8] { recording?.take() ?? [] }

  private mutating func addNoise(_ bytes: Slice<UnsafeRawBufferPointer>, to items: inout [Item]) {
    if isInNoise { return }
    add(.noise(beginning: PiEventScanner.beginning(of: UnsafeRawBufferPointer(rebasing: bytes))), to: &items)
  }

  private mutating func add(_ event: PiEvent, to items: inout [Item]) {
    if case .other = event { return }
    if let text = text.take() { items.append(.text(text)) }
    items.append(.event(event))
  }
}
