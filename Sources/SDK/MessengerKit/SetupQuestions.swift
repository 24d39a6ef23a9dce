public import PluginSDK

/// The outcome of an answer in a set-up.
public enum SetupAnswer<Value> {
  case good(Value)
  /// Ask again, after this text for the person; `nil`: the person has been told already.
  case again(String?)
}

extension SetupDialogue {
  /// Times that one thing is asked.
  static var maximumTries: Int { 3 }

  /// Asks until an answer is accepted.
  ///
  /// - Parameters:
  ///   - given: an answer from the command, which is judged first.
  ///   - failure: the failure of the set-up after three answers that were not accepted.
  ///   - judge: judges an answer.
  /// - Throws: `WireError`, which the person reads, or errors of `judge`.
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
