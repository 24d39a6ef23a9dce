internal import Glibc
internal import RelayConcurrency

/// The reason why a child could not be started, for the person who can fix it.
package enum SpawnError: Error, Sendable, Equatable, CustomStringConvertible {
  case missing(path: String)
  case isFolder(path: String)
  case notExecutable(path: String)
  case missingInterpreter(path: String, interpreter: String)
  case missingDirectory(path: String)
  case stillBeingWritten(path: String)
  case fewDescriptors(name: String, free: Int)
  /// The daemon may be about to become another program; to be tried again when `SpawnGate` is open.
  case postponed(path: String)
  case system(path: String, reason: String)

  package var description: String {
    switch self {
    case .missing(let path): "\(path) does not exist"
    case .isFolder(let path): "\(path) is a folder, not an executable; put the executable itself there"
    case .notExecutable(let path): "\(path) is not executable; run: chmod +x \(path)"
    case .missingInterpreter(let path, let interpreter):
      "\(path) needs \(interpreter) (its first line says so), which is not installed; install it"
    case .missingDirectory(let path): "the working directory \(path) does not exist"
    case .stillBeingWritten(let path): "\(path) is still being written"
    case .fewDescriptors(let name, let free):
      "\(name) was not started: only \(free) file descriptors are free; raise the limit (ulimit -n)"
    case .postponed(let path): "\(path) is started when pi-relayd has been upgraded"
    case .system(let path, let reason): "\(path) could not be started: \(reason)"
    }
  }

  /// Makes the best of an errno of `posix_spawn`.
  init(path: String, directory: String?, code: Int32) {
    var status = stat()
    let exists = stat(path, &status) == 0
    switch code {
    case ENOENT where !exists: self = .missing(path: path)
    case ENOENT:
      if let directory, access(directory, X_OK) != 0 {
        self = .missingDirectory(path: directory)
      } else {
        self = .missingInterpreter(path: path, interpreter: Self.interpreter(of: path) ?? "its loader")
      }
    case ENOTDIR: self = directory.map(SpawnError.missingDirectory) ?? .missing(path: path)
    case EACCES where exists && status.st_mode & S_IFMT == S_IFDIR: self = .isFolder(path: path)
    case EACCES: self = .notExecutable(path: path)
    case ETXTBSY: self = .stillBeingWritten(path: path)
    default: self = .system(path: path, reason: SystemError.reason(of: code))
    }
  }

  /// The program named in a script's `#!` line.
  private static func interpreter(of path: String) -> String? {
    guard let file = FileHandleReader.beginning(of: path, bytes: 256), file.starts(with: Array("#!".utf8)) else {
      return nil
    }
    let line = String(decoding: file.dropFirst(2).prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    let words = line.split(separator: " ")
    if words.first == "/usr/bin/env", words.count > 1 { return String(words[1]) }
    return words.first.map(String.init)
  }
}

enum FileHandleReader {
  /// The first bytes of a file; nil when it cannot be read.
  static func beginning(of path: String, bytes: Int) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { _ = close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: bytes)
    let count = read(descriptor, &buffer, bytes)
    return count < 0 ? nil : Array(buffer.prefix(count))
  }
}
