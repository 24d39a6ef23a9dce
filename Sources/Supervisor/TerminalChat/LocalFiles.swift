import FoundationEssentials
import RelayWire

/// `/file PATH words`: the terminal's way to attach a file. It is copied to where the daemon looks for files.
struct LocalFiles {
  let spoolFolder: String

  struct Failure: Error, Equatable, CustomStringConvertible {
    let description: String
  }

  /// The message of a line and its attachment, if it has one.
  func read(_ line: String) throws -> (text: String, attachments: [Attachment]) {
    guard line.hasPrefix("/file ") else { return (line, []) }
    let rest = line.dropFirst(6).drop { $0 == " " }
    let (path, text) = Self.path(rest)
    guard !path.isEmpty else { throw Failure(description: "which file? /file PATH [message]") }
    let home = FileManager.default.homeDirectoryForCurrentUser.path
    let source = path.hasPrefix("~/") ? home + path.dropFirst() : path
    var isFolder = false
    guard FileManager.default.fileExists(atPath: source, isDirectory: &isFolder), !isFolder else {
      throw Failure(description: "\(path) is not a file")
    }
    let target = "\(spoolFolder)/\(UUID().uuidString)"
    do {
      try FileManager.default.copyItem(atPath: source, toPath: target)
    } catch {
      throw Failure(description: "\(path) cannot be read")
    }
    let name = source.split(separator: "/").last.map(String.init) ?? "file"
    return (text, [Attachment(id: target, name: name, path: target)])
  }

  /// A path may be quoted to hold spaces.
  private static func path(_ text: Substring) -> (String, String) {
    if let quote = text.first, quote == "\"" || quote == "'" {
      let body = text.dropFirst()
      let path = body.prefix { $0 != quote }
      return (String(path), String(body.dropFirst(path.count + 1).drop { $0 == " " }))
    }
    let path = text.prefix { $0 != " " }
    return (String(path), String(text.dropFirst(path.count).drop { $0 == " " }))
  }
}
