// What a messenger is told of a growing answer, read and written without the detours of the general coders: several times
// a second, and the last of them is what the person waits for.

extension MessageSend {
  public func writeParams(to line: inout [UInt8]) throws {
    guard buttons == nil else {
      line += try JSONCoding.encode(self)
      return
    }
    line.reserveCapacity(line.count + text.utf8.count * 9 / 8 + 300)
    line += #"{"key":"#.utf8
    JSONText.quote(key, into: &line)
    line += #","conversation":"#.utf8
    JSONText.quote(conversation, into: &line)
    line += #","text":"#.utf8
    JSONText.quote(text, into: &line)
    if let role {
      line += #","role":"#.utf8
      JSONText.quote(role.rawValue, into: &line)
    }
    if let replyTo {
      line += #","replyTo":"#.utf8
      JSONText.quote(replyTo, into: &line)
    }
    if let streaming { line += #","streaming":\#(streaming)"#.utf8 }
    line.append(UInt8(ascii: "}"))
  }

  public static func readParams(_ params: UnsafeRawBufferPointer) -> MessageSend? {
    var request = MessageSend(key: "", conversation: "", text: "")
    let isRead = JSONCursor.readUsual(params, needed: 3) { key, cursor in
      switch true {
      case key.equals("key"): cursor.read(into: &request.key) ? .needed : .unusual
      case key.equals("conversation"): cursor.read(into: &request.conversation) ? .needed : .unusual
      case key.equals("text"): cursor.read(into: &request.text) ? .needed : .unusual
      case key.equals("role"):
        cursor.read(into: &request.role) ? .optional : .unusual
      case key.equals("streaming"): cursor.read(into: &request.streaming) ? .optional : .unusual
      default: .unusual
      }
    }
    return isRead ? request : nil
  }
}

extension MessageEdit {
  public static func readParams(_ params: UnsafeRawBufferPointer) -> MessageEdit? {
    var request = MessageEdit(conversation: "", message: "", text: "")
    let isRead = JSONCursor.readUsual(params, needed: 3) { key, cursor in
      switch true {
      case key.equals("conversation"): cursor.read(into: &request.conversation) ? .needed : .unusual
      case key.equals("message"): cursor.read(into: &request.message) ? .needed : .unusual
      case key.equals("text"): cursor.read(into: &request.text) ? .needed : .unusual
      case key.equals("streaming"): cursor.read(into: &request.streaming) ? .optional : .unusual
      default: .unusual
      }
    }
    return isRead ? request : nil
  }
}

extension TypingSet {
  public func writeParams(to line: inout [UInt8]) {
    line += #"{"conversation":"#.utf8
    JSONText.quote(conversation, into: &line)
    line += #","active":\#(active)}"#.utf8
  }

  public static func readParams(_ params: UnsafeRawBufferPointer) -> TypingSet? {
    var request = TypingSet(conversation: "", active: false)
    let isRead = JSONCursor.readUsual(params, needed: 2) { key, cursor in
      switch true {
      case key.equals("conversation"): cursor.read(into: &request.conversation) ? .needed : .unusual
      case key.equals("active"): cursor.read(into: &request.active) ? .needed : .unusual
      default: .unusual
      }
    }
    return isRead ? request : nil
  }
}

extension MessageSettled {
  public static func readParams(_ params: UnsafeRawBufferPointer) -> MessageSettled? {
    var request = MessageSettled(conversation: "", message: "", outcome: .answered)
    let isRead = JSONCursor.readUsual(params, needed: 3) { key, cursor in
      switch true {
      case key.equals("conversation"): return cursor.read(into: &request.conversation) ? .needed : .unusual
      case key.equals("message"): return cursor.read(into: &request.message) ? .needed : .unusual
      case key.equals("outcome"):
        guard let outcome = cursor.validText().flatMap(Outcome.init(rawValue:)) else { return .unusual }
        request.outcome = outcome
        return .needed
      default: return .unusual
      }
    }
    return isRead ? request : nil
  }
}

extension MessageReceived {
  public static func readReply(from line: UnsafeRawBufferPointer) throws -> Reply {
    var stored: Bool?
    var refused: Bool?
    var cursor = JSONCursor(line)
    _ = cursor.members { key, cursor in
      guard key.equals("result") else { return true }
      return cursor.members { key, cursor in
        if key.equals("stored") { stored = cursor.flag() }
        if key.equals("refused") { refused = cursor.flag() }
        return true
      }
    }
    // What is not as it should be is left to the decoder, which says why.
    if let stored { return Reply(stored: stored, refused: refused) }
    return try JSONCoding.decode(ResultOf<Reply>.self, from: line).result
  }
}

extension JSONCursor {
  enum Member { case needed, optional, unusual }

  /// Reads an object each of whose members `read` knows, none of them twice.
  ///
  /// - Parameter needed: how many of those it calls needed there must be.
  static func readUsual(
    _ bytes: UnsafeRawBufferPointer, needed: Int, _ read: (UnsafeRawBufferPointer, inout JSONCursor) -> Member
  ) -> Bool {
    var cursor = JSONCursor(bytes)
    var found = 0
    var isUsual = true
    var keys: [UnsafeRawBufferPointer] = []
    let isObject = cursor.members { key, cursor in
      let isNew = !keys.contains { $0.elementsEqual(key) }
      keys.append(key)
      let member = isNew ? read(key, &cursor) : .unusual
      if member == .needed { found += 1 }
      isUsual = member != .unusual
      return isUsual
    }
    return isObject && isUsual && found == needed && cursor.peek() == nil
  }

  fileprivate mutating func read(into flag: inout Bool) -> Bool {
    guard let found = self.flag() else { return false }
    flag = found
    return true
  }

  fileprivate mutating func read(into flag: inout Bool?) -> Bool {
    flag = self.flag()
    return flag != nil
  }

  fileprivate mutating func read(into role: inout MessageRole?) -> Bool {
    role = validText().map(MessageRole.init(rawValue:))
    return role != nil
  }
}
