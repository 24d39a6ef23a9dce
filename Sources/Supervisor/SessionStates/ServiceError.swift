internal import RelayJSON
internal import RelayWire

/// The words of a model service's error, which pi passes on as the service wrote it: often a status and JSON.
package enum ServiceError {
  /// The message inside the error's JSON, without a status before it; the error itself where it holds none.
  package static func words(_ error: String) -> String {
    guard let start = error.firstIndex(where: { $0 == "{" || $0 == "[" }),
      let end = error.lastIndex(where: { $0 == "}" || $0 == "]" }), start < end,
      let value = try? JSONCoding.decode(JSONValue.self, from: Array(error[start...end].utf8)),
      let message = message(in: value)
    else { return error }
    let before = error[..<start].trimmingCharacters { $0.isWhitespace || $0 == ":" }
    // Some services pass on the error of another in theirs.
    let words = self.words(message)
    return before.isEmpty || before.allSatisfy(\.isNumber) ? words : "\(before): \(words)"
  }

  private static func message(in value: JSONValue) -> String? {
    if let items = value.arrayValue { return items.lazy.compactMap(message).first }
    for name in ["error", "message", "detail"] {
      guard let member = value[name] else { continue }
      if let text = member.stringValue, !text.isEmpty { return text }
      if let text = message(in: member) { return text }
    }
    return nil
  }
}

extension Substring {
  fileprivate func trimmingCharacters(where isTrimmed: (Character) -> Bool) -> Substring {
    let rest = drop(while: isTrimmed)
    return rest.lastIndex { !isTrimmed($0) }.map { rest[...$0] } ?? ""
  }
}
