internal import FoundationEssentials
internal import Glibc
internal import RelayWire

/// What `/new` and `/spawn` ask for: `[name] [--in folder] [--model model] [-- task]`.
struct NewSession: Equatable {
  var name: String?
  var folder: String?
  var model: String?
  /// Its first prompt.
  var task: String?

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
}
