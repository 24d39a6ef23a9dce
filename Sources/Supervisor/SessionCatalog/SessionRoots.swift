internal import Glibc

/// The folders in which people may begin sessions from chat.
enum SessionRoots {
  /// A folder with its links resolved; nil when it is neither one of the roots nor beneath one, or is no folder.
  static func resolved(_ folder: String, within roots: [String]) -> String? {
    // A relative path would depend on the directory in which the daemon was started.
    guard folder.hasPrefix("/"), let real = resolved(folder) else { return nil }
    var status = stat()
    guard stat(real, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    let isWithin = roots.compactMap(resolved).contains { root in
      real == root || real.hasPrefix(root == "/" ? root : root + "/")
    }
    return isWithin ? real : nil
  }

  private static func resolved(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }
}
