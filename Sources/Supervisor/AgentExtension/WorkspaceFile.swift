internal import FoundationEssentials
internal import Glibc
internal import RelayConcurrency
internal import RelayWire

/// A file of an agent's workspace that may be sent to people: opened, so that it stays the file that was checked.
package final class WorkspaceFile: Sendable {
  /// The reason why a file is not sent, in words for the agent. Names no path but the one that was asked for.
  package struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }

  /// The name for people: letters, digits, `.`, `_` and `-`, with its extension.
  package let name: String
  package let mime: String
  package let bytes: Int
  private let descriptor: Int32

  /// Files that are sent as text.
  private static let textTypes = [
    "txt": "text/plain", "log": "text/plain", "md": "text/markdown", "markdown": "text/markdown",
    "json": "application/json", "jsonl": "application/jsonl", "yaml": "application/yaml", "yml": "application/yaml",
    "csv": "text/csv", "tsv": "text/tab-separated-values", "xml": "application/xml", "html": "text/html",
    "css": "text/css", "js": "text/javascript", "jsx": "text/javascript", "ts": "text/x-typescript",
    "tsx": "text/x-typescript", "py": "text/x-python", "sh": "text/x-shellscript",
  ]
  private static let imageTypes = ["png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp"]

  /// Bytes at the beginning of a text file that must hold no NUL.
  private static let checkedBytes = 8_192
  private static let maximumStem = 48

  deinit { _ = close(descriptor) }

  /// Checks and opens a file.
  ///
  /// - Parameters:
  ///   - path: relative to the workspace, as the agent gave it.
  ///   - workspace: the agent's working directory.
  package init(_ path: String, in workspace: String, maximumBytes: Int) throws(Refusal) {
    let type = try Self.fileType(of: path)
    let descriptor = open("\(workspace)/\(path)", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else {
      throw Refusal(description: "\(path): \(SystemError.reason())")
    }
    do {
      bytes = try Self.checkedSize(of: descriptor, path, workspace, maximumBytes)
      try Self.checkContent(of: descriptor, path, type)
    } catch {
      _ = close(descriptor)
      throw error
    }
    self.descriptor = descriptor
    name = Self.name(of: path)
    mime = type.mime
  }

  /// Copies the file's contents.
  ///
  /// - Parameter target: a path at which nothing is.
  package func copy(to target: String) throws {
    let copy = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard copy >= 0 else { throw SystemError("cannot be made", path: target) }
    defer { _ = close(copy) }
    var offset: off_t = 0
    // No more than was checked: the file may grow meanwhile.
    while offset < bytes {
      let count = sendfile(copy, descriptor, &offset, bytes - Int(offset))
      if count == 0 { break }
      if count < 0, errno != EINTR { throw SystemError("cannot be written", path: target) }
    }
  }

  // MARK: - Checks

  private struct FileType {
    let mime: String
    let isImage: Bool
  }

  private static func fileType(of path: String) throws(Refusal) -> FileType {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw Refusal(description: "the path is empty") }
    guard !path.hasPrefix("/"), !path.hasPrefix("~") else {
      throw Refusal(description: "\(path): give the path relative to the working directory")
    }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty }) else { throw Refusal(description: "\(path): it is no path of a file") }
    guard !parts.contains(where: { $0.hasPrefix(".") }) else {
      throw Refusal(description: "\(path): hidden files and folders, and .., are not sent")
    }
    let ending = parts.last?.split(separator: ".", omittingEmptySubsequences: false).dropFirst().last.map {
      $0.lowercased()
    }
    if let mime = ending.flatMap({ textTypes[$0] }) { return FileType(mime: mime, isImage: false) }
    if let mime = ending.flatMap({ imageTypes[$0] }) { return FileType(mime: mime, isImage: true) }
    let known = (Array(textTypes.keys) + imageTypes.keys).sorted().joined(separator: ", ")
    throw Refusal(description: "\(path): files of this kind are not sent; these are: \(known)")
  }

  /// Checks where the opened file really is: links may lead anywhere.
  private static func checkedSize(
    of descriptor: Int32, _ path: String, _ workspace: String, _ maximumBytes: Int
  ) throws(Refusal) -> Int {
    guard let root = realPath(workspace), let real = linkTarget("/proc/self/fd/\(descriptor)"),
      real.hasPrefix(root == "/" ? "/" : root + "/")
    else {
      throw Refusal(description: "\(path): it is not in the working directory")
    }
    guard !real.dropFirst(root.count).split(separator: "/").contains(where: { $0.hasPrefix(".") }) else {
      throw Refusal(description: "\(path): it leads to a hidden file, which is not sent")
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Refusal(description: "\(path): it is no file")
    }
    guard status.st_size <= maximumBytes else {
      throw Refusal(
        description:
          "\(path): it has \(ByteCount(Int(status.st_size))), and at most \(ByteCount(maximumBytes)) can be sent")
    }
    return Int(status.st_size)
  }

  private static func checkContent(of descriptor: Int32, _ path: String, _ type: FileType) throws(Refusal) {
    var beginning = [UInt8](repeating: 0, count: checkedBytes)
    let count = pread(descriptor, &beginning, beginning.count, 0)
    guard count >= 0 else { throw Refusal(description: "\(path): \(SystemError.reason())") }
    let bytes = beginning.prefix(count)
    if type.isImage {
      guard imageType(of: bytes) == type.mime else {
        throw Refusal(description: "\(path): its contents are no \(type.mime.dropFirst(6).uppercased()) image")
      }
    } else if bytes.contains(0) {
      throw Refusal(description: "\(path): its contents are no text")
    }
  }

  private static func imageType(of bytes: ArraySlice<UInt8>) -> String? {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
      return "image/webp"
    }
    return nil
  }

  private static func name(of path: String) -> String {
    let last = path.split(separator: "/").last.map(String.init) ?? ""
    let parts = last.split(separator: ".", omittingEmptySubsequences: false)
    let stem = parts.dropLast().joined(separator: ".")
    let safe = String(
      stem.unicodeScalars.map { scalar -> Character in
        let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
        return isPlain || scalar == "." || scalar == "_" || scalar == "-" ? Character(scalar) : "-"
      }.prefix(maximumStem))
    let named = safe.contains { $0.isLetter || $0.isNumber } ? safe : "pi-output"
    return "\(named).\(parts.last ?? "txt")"
  }

  private static func realPath(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  private static func linkTarget(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = readlink(path, &buffer, buffer.count - 1)
    guard count > 0 else { return nil }
    return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
