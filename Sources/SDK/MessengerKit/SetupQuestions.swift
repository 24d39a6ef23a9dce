public import PluginSDK

/// The outcome of an answer in a set-up.
public enum SetupAnswer<Value> {
  case good(Value)
  /// Asked again, after these words to the person; nil: they have been told already.
  case again(String?)
}

extension SetupDialogue {
  /// Times that one thing is asked.
  static var maximumTries: Int { 3 }

  /// Asks until an answer is good.
  ///
  /// - Parameters:
  ///   - given: an answer that came with the command: it is judged first.
  ///   - failure: what the set-up ends with after three answers that are not.
  ///   - judge: looks at an answer.
  /// - Throws: `WireError`, which the person reads, or what `judge` throws.
  public func ask<Value>(
    _ name: String, _ question: String, given: String? = nil, secret: Bool = false, failure: String,
    _ judge: (String) async throws -> SetupAnswer<Value>
  ) async throws -> Value {
    var given = given
    for _ in 0..<Self.maximumTries {
      let text: String
      if let answer = given { text = answer } else { text = try await ask(name, question, secret: secret) }
      given = nil
      switch try await judge(text) {
      case .good(let value): return value
      case .again(let words): if let words { try await say(words) }
      }
    }
    throw WireError(.internalError, failure)
  }

  /// An answer that came with the command, or else the person's.
  public func answer(_ name: String, _ question: String, known: JSONValue) async throws -> String {
    if let given = known[name]?.stringValue { return given }
    return try await ask(name, question)
  }

  /// The parts of an answer that is a list with commas between, without blanks and quotes, which come along when it is copied.
  public static func list(_ text: String) -> [String] {
    text.split(separator: ",").map { $0.filter { !$0.isWhitespace && $0 != "\"" && $0 != "'" } }.filter { !$0.isEmpty }
  }
}
