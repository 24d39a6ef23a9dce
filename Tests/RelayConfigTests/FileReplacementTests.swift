import FoundationEssentials
import Glibc
import RelayConcurrency
import Testing

@testable import RelayConfig

@Suite struct FileReplacementTests {
  /// A folder of one test's own.
  private final class Folder {
    let path = "/tmp/pr-\(UUID().uuidString.prefix(8))"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ name: String, _ text: String) throws -> String {
      try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
      return "\(path)/\(name)"
    }

    func read(_ name: String) throws -> String {
      String(decoding: try Data(contentsOf: URL(filePath: "\(path)/\(name)")), as: UTF8.self)
    }
  }

  @Test func `a file is replaced as a whole, also over short and interrupted writes`() throws {
    let folder = try Folder()
    let path = try folder.write("relay.yaml", "old")
    var calls = 0
    try FileReplacement.write("new text", to: path) { descriptor, bytes, count in
      calls += 1
      guard calls != 2 else {
        errno = EINTR
        return -1
      }
      return Glibc.write(descriptor, bytes, min(count, 3))
    }
    #expect(try folder.read("relay.yaml") == "new text")
    #expect(calls == 4)
    try FileReplacement.write("newer", to: path)
    #expect(try folder.read("relay.yaml") == "newer")
  }

  @Test func `a disk that fills up during a write is reported, and the old file stays`() throws {
    let folder = try Folder()
    let path = try folder.write("relay.yaml", "old")
    let error = try #require(throws: SystemError.self) {
      var isFull = false
      try FileReplacement.write("new text", to: path) { descriptor, bytes, count in
        guard !isFull else {
          errno = ENOSPC
          return -1
        }
        isFull = true
        let written = Glibc.write(descriptor, bytes, 3)
        // A leftover of an earlier call, which has nothing to do with this one.
        errno = ENOENT
        return written
      }
    }
    #expect(error.description.contains("No space left on device"), "\(error)")
    #expect(try folder.read("relay.yaml") == "old")
    #expect(access("\(path).\(getpid())", F_OK) != 0)
  }

  @Test func `a link to the configuration stays a link`() throws {
    let folder = try Folder()
    _ = try folder.write("real.yaml", "old")
    try #require(symlink("real.yaml", folder.path + "/relay.yaml") == 0)
    try FileReplacement.write("new", to: folder.path + "/relay.yaml")
    #expect(try folder.read("real.yaml") == "new")
    var status = stat()
    #expect(lstat(folder.path + "/relay.yaml", &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
  }
}
