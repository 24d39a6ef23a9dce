extension MessageReceived {
  public static func readParams(_ params: UnsafeRawBufferPointer) -> MessageReceived? { MessageReceived(usual: params) }

  /// A message of the usual shape without an encoder's detours.
  public func writeParams(to line: inout [UInt8]) throws {
    guard replyTo == nil, attachments == nil, forwarded == nil, sender.bot == nil, conversation.directory == nil,
      time?.isFinite != false
    else {
      line += try JSONCoding.encode(self)
      return
    }
    line += #"{"id":"#.utf8
    JSONText.quote(id, into: &line)
    if let time { line += #","time":\#(time)"#.utf8 }
    line += #","conversation":{"id":"#.utf8
    JSONText.quote(conversation.id, into: &line)
    line += #","kind":"\#(conversation.kind.rawValue)""#.utf8
    Self.add("parent", conversation.parent, to: &line)
    Self.add("title", conversation.title, to: &line)
    line += #"},"sender":{"id":"#.utf8
    JSONText.quote(sender.id, into: &line)
    Self.add("name", sender.name, to: &line)
    if let roles = sender.roles {
      line += #","roles":"#.utf8
      JSONValue.array(roles.map(JSONValue.string)).write(to: &line)
    }
    line.append(UInt8(ascii: "}"))
    Self.add("text", text, to: &line)
    if let mention { line += #","mention":\#(mention)"#.utf8 }
    if let state {
      line += #","state":"#.utf8
      state.write(to: &line)
    }
    line.append(UInt8(ascii: "}"))
  }

  private static func add(_ name: StaticString, _ text: String?, to line: inout [UInt8]) {
    guard let text else { return }
    line += #","\#(name)":"#.utf8
    JSONText.quote(text, into: &line)
  }

  /// Reads a message of the usual shape: names, words, times, flags and the plugin's state. The general decoder takes several times as long,
  /// and messages that come together wait for it one after another.
  ///
  /// Nil for anything else, whether it is valid or not: the general decoder then reads it, or says what is wrong. What is
  /// read here is exactly what that would read.
  public init?(usual params: UnsafeRawBufferPointer) {
    var cursor = JSONCursor(params)
    var seen: Set<Field> = []
    var message = MessageReceived(
      id: "", conversation: Conversation(id: ""), sender: Sender(id: "", name: ""), text: "")
    var isUsual = true
    let isObject = cursor.members { key, cursor in
      isUsual = false
      guard let field = Field.allCases.first(where: { key.equals($0.name) }), seen.insert(field).inserted,
        message.read(field, &cursor)
      else { return false }
      isUsual = true
      return true
    }
    guard isObject, isUsual, cursor.peek() == nil, seen.isSuperset(of: Field.needed) else { return nil }
    self = message
  }

  private enum Field: CaseIterable {
    case id, text, conversation, sender, time, mention, state

    static let needed: Set<Field> = [.id, .text, .conversation, .sender]

    var name: StaticString {
      switch self {
      case .id: "id"
      case .text: "text"
      case .conversation: "conversation"
      case .sender: "sender"
      case .time: "time"
      case .mention: "mention"
      case .state: "state"
      }
    }
  }

  private mutating func read(_ field: Field, _ cursor: inout JSONCursor) -> Bool {
    switch field {
    case .id: return cursor.read(into: &id)
    case .text: return cursor.read(into: &text)
    case .conversation: return conversation.read(&cursor)
    case .sender: return sender.read(&cursor)
    case .time:
      time = cursor.plainNumber()
      return time != nil
    case .mention:
      mention = cursor.flag()
      return mention != nil
    case .state:
      state = cursor.value()
      return state != nil && state != .null
    }
  }
}

extension Conversation {
  fileprivate mutating func read(_ cursor: inout JSONCursor) -> Bool {
    var kind: Kind?
    var count = 0
    let isRead = cursor.members { key, cursor in
      count += 1
      if key.equals("id") { return id.isEmpty && cursor.read(into: &id) }
      if key.equals("parent") { return parent == nil && cursor.read(into: &parent) }
      if key.equals("title") { return title == nil && cursor.read(into: &title) }
      guard key.equals("kind"), kind == nil else { return false }
      var word = ""
      if cursor.read(into: &word) { kind = Kind(rawValue: word) }
      return kind != nil
    }
    guard isRead, count >= 2, let kind, !id.isEmpty else { return false }
    self.kind = kind
    return true
  }
}

extension Sender {
  fileprivate mutating func read(_ cursor: inout JSONCursor) -> Bool {
    var count = 0
    let isRead = cursor.members { key, cursor in
      count += 1
      if key.equals("id") { return id.isEmpty && cursor.read(into: &id) }
      if key.equals("roles"), roles == nil {
        roles = cursor.texts()
        return roles != nil
      }
      return key.equals("name") && name.isEmpty && cursor.read(into: &name)
    }
    return isRead && count >= 2 && !id.isEmpty && !name.isEmpty
  }
}

extension JSONCursor {
  mutating func read(into text: inout String) -> Bool {
    guard let valid = validText() else { return false }
    text = valid
    return true
  }

  mutating func read(into text: inout String?) -> Bool {
    text = validText()
    return text != nil
  }

  fileprivate mutating func value() -> JSONValue? {
    _ = peek()
    let start = position
    guard skipValue() else { return nil }
    return try? JSONValue(text: UnsafeRawBufferPointer(rebasing: bytes[start..<position]))
  }

  /// A list of strings.
  fileprivate mutating func texts() -> [String]? {
    guard case .array(let items)? = value() else { return nil }
    let texts = items.compactMap(\.stringValue)
    return texts.count == items.count ? texts : nil
  }

  /// Digits, with a fraction or without.
  fileprivate mutating func plainNumber() -> Double? {
    _ = peek()
    let start = position
    guard skipValue(), position - start <= 24 else { return nil }
    let digits = bytes[start..<position]
    let parts = digits.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count <= 2, let whole = parts.first, whole.count == 1 || whole.first != UInt8(ascii: "0"),
      parts.allSatisfy({ part in !part.isEmpty && part.allSatisfy { (0x30...0x39).contains($0) } })
    else { return nil }
    return Double(String(decoding: digits, as: UTF8.self))
  }

  mutating func flag() -> Bool? {
    _ = peek()
    let start = position
    guard skipValue() else { return nil }
    let word = UnsafeRawBufferPointer(rebasing: bytes[start..<position])
    return word.equals("true") ? true : word.equals("false") ? false : nil
  }
}
