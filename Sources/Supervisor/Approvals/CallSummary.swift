internal import RelayJSON
package import RelayText
internal import RelayWire

extension ToolCall {
  /// The most characters of a summary.
  package static let summaryLimit = 700

  /// The call as people are shown it: redacted, without control characters, at most `summaryLimit` characters. Of a longer
  /// one the beginning and the end are shown, so that no command hides behind a long one.
  package func summary(through redaction: Redactor) -> String {
    let lines = wholeSummary.split(separator: "\n").map { redaction.line(String($0), limit: .max) }
    return Self.shortened(lines.filter { !$0.isEmpty }.joined(separator: "\n"))
  }

  /// The call in words, unredacted and of any length.
  var wholeSummary: String {
    switch kind {
    case .shell: command ?? ""
    case .fileWrite: "\(input["path"]?.stringValue ?? paths.first ?? "(no path)") (\(change))"
    case .other: "\(tool) " + String(decoding: Self.sorted(input), as: UTF8.self)
    }
  }

  /// The size of what is written, without any of it.
  private var change: String {
    if let content = input["content"]?.stringValue { return Self.characters(content.count) }
    let edits = (input["edits"]?.arrayValue ?? [input]).map { edit in
      (old: Self.count(edit["oldText"]), new: Self.count(edit["newText"]))
    }
    let sizes = "\(edits.reduce(0) { $0 + $1.old }) → \(Self.characters(edits.reduce(0) { $0 + $1.new }))"
    return edits.count == 1 ? sizes : "\(edits.count) edits, \(sizes)"
  }

  private static func count(_ text: JSONValue?) -> Int { text?.stringValue?.count ?? 0 }

  private static func characters(_ count: Int) -> String { "\(count) \(count == 1 ? "character" : "characters")" }

  private static func sorted(_ value: JSONValue) -> [UInt8] {
    // Encoding fails for numbers that are not finite only; then the order of the members is any.
    (try? JSONCoding.encode(value, sorted: true)) ?? JSONCoding.encode(value)
  }

  private static func shortened(_ text: String) -> String {
    let text = text.cut(toBytes: 1 << 20)
    guard text.count > summaryLimit else { return text }
    let note = " … (\(text.count) characters in all) … "
    let rest = summaryLimit - note.count
    return text.prefix(rest * 2 / 3) + note + text.suffix(rest - rest * 2 / 3)
  }
}
