public import PluginSDK

/// The outcome of an answer in a set-up.
public enum SetupAnswer<Value> {
  /// The answer is good, and means this value.
  case good(Value)
  /// The question is asked again, after these words to the person; `nil` where the person has been told already.
  case again(String?)
}

extension SetupDialogue {
  /// Times that one thing is asked.
  static var maximumTries: Int { 3 }

  /// Asks until an answer is accepted.
  ///
  /// - Parameters:
  ///   - name: the setting, by which an answer may be given with the command.
  ///   - question: the words for the person.
  ///   - given: an answer that was given with the command: it is judged first.
  ///   - secret: the answer is not shown while it is typed.
  ///   - failure: the words with which the set-up ends after three answers that are not good.
  ///   - judge: looks at an answer.
  /// - Returns: the value of the good answer.
  /// - Throws: `WireError` with `failure`, or the error of `judge`.
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

  /// The answer that was given with the command, or else the person's.
  ///
  /// - Throws: an error when the person has left the set-up.
  public func answer(_ name: String, _ question: String, known: JSONValue) async throws -> String {
    if let given = known[name]?.stringValue { return given }
    return try await ask(name, question)
  }

  /// The items of an answer that is a list with commas, without the blanks and quotes that are copied along.
  public static func list(_ text: String) -> [String] {
    text.split(separator: ",").map { $0.filter { !$0.isWhitespace && $0 != "\"" && $0 != "'" } }.filter { !$0.isEmpty }
  }
}
