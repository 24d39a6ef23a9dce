/// Adds to relay.yaml and leaves everything else, comments included, as it is.
package enum ConfigEditor {
  /// Adds a section at the end.
  ///
  /// - Returns: nil where there is one of this name already, or the file is written in braces.
  package static func adding(section: String, settings: [String], to text: String) throws(YAMLError) -> String? {
    switch try YAMLReader.read(Array(text.utf8)) {
    case .mapping(let sections, _)?:
      guard sections.first?.mark.column == 1, !sections.contains(where: { $0.key == section }) else { return nil }
    case let root?: guard root.isNull else { return nil }
    case nil: break
    }
    return appended(["\(section):"] + settings.map { "  \($0)" }, to: text)
  }

  /// Adds a messenger's instance.
  ///
  /// - Parameters:
  ///   - settings: lines of the instance's own, without indentation.
  ///   - text: the file as it is; empty for a new one.
  /// - Returns: nil where the file is written in a way that only a person can add to, as in braces.
  package static func adding(
    _ kind: String, _ instance: String, settings: [String], to text: String
  ) throws(YAMLError) -> String? {
    let root = try YAMLReader.read(Array(text.utf8))
    let own = ["\(instance):"] + settings.map { "  \($0)" }
    let whole = ["\(kind):"] + own.map { "  \($0)" }
    guard case .mapping(let sections, _)? = root else {
      guard root == nil || root?.isNull == true else { return nil }
      return appended(["messengers:"] + whole.map { "  \($0)" }, to: text)
    }
    guard let messengers = sections.first(where: { $0.key == "messengers" }) else {
      // A flow mapping as the whole document cannot be appended to.
      guard sections.first.map({ $0.mark.column == 1 }) ?? false else { return nil }
      return appended(["messengers:"] + whole.map { "  \($0)" }, to: text)
    }
    if messengers.value.isNull { return inserted(whole, indent: 2, after: messengers.mark.line, in: text) }
    guard case .mapping(let kinds, _) = messengers.value, let indent = indent(of: kinds, in: messengers) else {
      return nil
    }
    guard let present = kinds.first(where: { $0.key == kind }) else {
      return inserted(whole, indent: indent, after: messengers.mark.line, in: text)
    }
    if present.value.isNull { return inserted(own, indent: indent + 2, after: present.mark.line, in: text) }
    guard case .mapping(let instances, _) = present.value, !instances.contains(where: { $0.key == instance }),
      let inner = Self.indent(of: instances, in: present)
    else { return nil }
    return inserted(own, indent: inner, after: present.mark.line, in: text)
  }

  /// How far the entries of a group are indented; nil when they stand in braces.
  private static func indent(of entries: [YAMLNode.Entry], in group: YAMLNode.Entry) -> Int? {
    guard let first = entries.first, first.mark.line > group.mark.line, first.mark.column > group.mark.column,
      entries.allSatisfy({ $0.mark.column == first.mark.column })
    else { return nil }
    return first.mark.column - 1
  }

  private static func appended(_ lines: [String], to text: String) -> String {
    let start = text.isEmpty || text.hasSuffix("\n") ? text : text + "\n"
    return start + lines.joined(separator: "\n") + "\n"
  }

  private static func inserted(_ lines: [String], indent: Int, after line: Int, in text: String) -> String {
    let blanks = String(repeating: " ", count: indent)
    // By bytes: CRLF is a single character.
    var all = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { String($0) ?? "" }
    let ending = all.first?.hasSuffix("\r") == true ? "\r" : ""
    if all.count == line { all.append("") }
    all.insert(contentsOf: lines.map { blanks + $0 + ending }, at: min(line, all.count))
    return all.joined(separator: "\n")
  }
}
