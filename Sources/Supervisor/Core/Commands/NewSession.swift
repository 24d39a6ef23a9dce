internal import FoundationEssentials
internal import Glibc

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
    var words = parts[0].split(separator: " ").map(String.init)
    func option(_ name: String) -> String? {
      guard let index = words.firstIndex(of: name), index + 1 < words.count else { return nil }
      defer { words.removeSubrange(index...index + 1) }
      return words[index + 1]
    }
    folder = option("--in").map(\.expandingTilde)
    model = option("--model")
    name = words.isEmpty ? nil : words.joined(separator: " ")
  }
}

/// Folders in which people may have sessions begun from chat.
enum SessionRoots {
  /// Whether a folder is one of the roots or lies beneath one, links resolved.
  static func allow(_ folder: String, _ roots: [String]) -> Bool {
    guard let folder = resolved(folder) else { return false }
    return roots.compactMap(resolved).contains { root in
      folder == root || folder.hasPrefix(root == "/" ? root : root + "/")
    }
  }

  private static func resolved(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }
}
