internal import FoundationEssentials
internal import Glibc

/// What is known of where a session works without asking it.
enum Workplace {
  /// The branch of a folder's repository, or the commit it stands at; nil outside of one.
  static func branch(of folder: String) -> String? {
    var folder = folder[...]
    while !folder.isEmpty {
      if let head = head(in: folder + "/.git") {
        let reference = "ref: refs/heads/"
        return head.hasPrefix(reference) ? String(head.dropFirst(reference.count)) : String(head.prefix(12))
      }
      folder = folder.prefix(upTo: folder.lastIndex(of: "/") ?? folder.startIndex)
    }
    return nil
  }

  /// A worktree's `.git` is a file that names the folder.
  private static func head(in path: Substring) -> String? {
    if let head = firstLine(of: path + "/HEAD") { return head }
    guard let line = firstLine(of: String(path)), line.hasPrefix("gitdir: ") else { return nil }
    return firstLine(of: line.dropFirst(8) + "/HEAD")
  }

  private static func firstLine(of path: some StringProtocol) -> String? {
    FileManager.default.contents(atPath: String(path)).flatMap { data in
      String(decoding: data.prefix(1_000), as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
    }
  }
}
