internal import FoundationEssentials
internal import RelayText
internal import RelayWire

/// The arguments of `/new` and `/spawn`: `[name] [--in folder] [--model model] [-- task]`.
package struct NewSession: Equatable, Sendable {
  package var name: String?
  package var folder: String?
  package var model: String?
  /// The first prompt.
  package var task: String?

  init(_ arguments: String) {
    // The task keeps its own blanks and lines.
    let parts = (" " + arguments).split(separator: " -- ", maxSplits: 1, omittingEmptySubsequences: false)
    let task = parts.count > 1 ? String(parts[1]).trimmingWhitespace() : ""
    self.task = task.isEmpty ? nil : task
    var words = Self.words(String(parts[0]))
    func option(_ name: String) -> String? {
      guard let index = words.firstIndex(of: name), index + 1 < words.count else { return nil }
      defer { words.removeSubrange(index...index + 1) }
      return words[index + 1]
    }
    folder = option("--in").map(\.expandingTilde)
    model = option("--model")
    name = words.isEmpty ? nil : words.joined(separator: " ")
  }

  /// Split at blanks, but not within quotes.
  private static func words(_ text: String) -> [String] {
    var (words, word) = ([String](), "")
    var quote: Character?
    for character in text {
      if character == quote {
        quote = nil
      } else if quote == nil, word.isEmpty, character == "\"" || character == "'" {
        quote = character
      } else if quote == nil, character == " " {
        if !word.isEmpty { words.append(word) }
        word = ""
      } else {
        word.append(character)
      }
    }
    return word.isEmpty ? words : words + [word]
  }

  /// Checks the folder and names it as it really is: a link may lead elsewhere tomorrow.
  ///
  /// - Returns: the reason why a session cannot be begun there, in words.
  mutating func resolveDirectory(in context: any CommandContext) async -> String? {
    guard let folder else { return nil }
    let shown = TextSanitizer.line(folder, limit: 200)
    // A terminal's user may go anywhere; from chat only where relay.yaml says. The reply does not reveal whether other
    // folders exist.
    if !context.isLocal {
      self.folder = await context.admittedDirectory(folder)
      if self.folder != nil { return nil }
      return "\(shown) is not among the folders in which sessions may be started from chat; sessions.roots in "
        + "relay.yaml lists them."
    }
    var isFolder = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder else {
      return "\(shown) is not a folder on this machine."
    }
    return nil
  }
}

extension String {
  fileprivate var expandingTilde: String {
    guard hasPrefix("~/") || self == "~" else { return self }
    return FileManager.default.homeDirectoryForCurrentUser.path + dropFirst()
  }
}
