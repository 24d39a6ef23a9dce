import AgentExtension
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite struct WorkspaceFileTests {
  private let scratch: TemporaryFolder
  private var workspace: String { scratch.path + "/work" }

  init() throws {
    scratch = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: scratch.path + "/work/sub/.git", withIntermediateDirectories: true)
  }

  private func file(_ path: String, maximumBytes: Int = 1_000) throws(WorkspaceFile.Refusal) -> WorkspaceFile {
    try WorkspaceFile(path, in: workspace, maximumBytes: maximumBytes)
  }

  private func refusal(of path: String, maximumBytes: Int = 1_000) -> String {
    do {
      _ = try file(path, maximumBytes: maximumBytes)
      return "sent"
    } catch {
      return error.description
    }
  }

  private func write(_ path: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(filePath: "\(workspace)/\(path)"))
  }

  @Test func `a text file is sent under its name, with its type and size`() throws {
    try write("sub/report.md", Array("# Done".utf8))
    let report = try file("sub/report.md")
    #expect(report.name == "report.md")
    #expect(report.mime == "text/markdown")
    #expect(report.bytes == 6)
    try report.copy(to: scratch.path + "/copy")
    #expect(scratch.read("copy") == "# Done")
  }

  @Test(arguments: [
    ("shot.png", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0] as [UInt8], "image/png"),
    ("photo.JPG", [0xFF, 0xD8, 0xFF, 0xE0], "image/jpeg"),
    ("art.webp", Array("RIFF....WEBPVP8 ".utf8), "image/webp"),
  ])
  func `an image is sent where its contents are what its name says`(name: String, bytes: [UInt8], mime: String) throws {
    try write(name, bytes)
    #expect(try file(name).mime == mime)
    try write("lie-\(name)", Array("plain text".utf8))
    #expect(refusal(of: "lie-\(name)").contains("image"))
  }

  @Test func `a picture of another kind than its name says is refused`() throws {
    try write("a.png", [0xFF, 0xD8, 0xFF, 0xE0])
    #expect(refusal(of: "a.png").contains("PNG"))
  }

  @Test(arguments: [
    "", "/etc/passwd", "~/notes.txt", "../out.txt", "sub/../a.txt", ".env.txt", "sub/.git/a.txt", "a//b.txt",
  ])
  func `paths that are empty, absolute, hidden or lead upwards are refused`(path: String) throws {
    try write("a.txt", [])
    try write("sub/.git/a.txt", [])
    try write(".env.txt", [])
    #expect(refusal(of: path) != "sent")
  }

  @Test func `files of unknown kinds, folders and missing files are refused`() throws {
    try write("program", [1])
    try write("data.bin", [1])
    try FileManager.default.createDirectory(atPath: workspace + "/folder.txt", withIntermediateDirectories: false)
    #expect(refusal(of: "program").contains("these are"))
    #expect(refusal(of: "data.bin").contains("these are"))
    #expect(refusal(of: "folder.txt").contains("it is no file"))
    #expect(refusal(of: "missing.txt").contains("No such file"))
  }

  @Test func `a pipe is refused, and nothing waits for it`() throws {
    #expect(mkfifo(workspace + "/pipe.txt", 0o600) == 0)
    #expect(refusal(of: "pipe.txt").contains("it is no file"))
  }

  @Test func `a file that is too large is refused with both sizes`() throws {
    try write("large.txt", [UInt8](repeating: 65, count: 2_048))
    #expect(refusal(of: "large.txt", maximumBytes: 1_024).contains("2 KiB, and at most 1 KiB"))
    #expect(try file("large.txt", maximumBytes: 2_048).bytes == 2_048)
  }

  @Test func `a text with a NUL is refused`() throws {
    try write("binary.txt", Array("text".utf8) + [0])
    #expect(refusal(of: "binary.txt").contains("no text"))
  }

  @Test func `links out of the workspace are refused, of files and of folders`() throws {
    try scratch.write("secret.txt", "secret")
    #expect(symlink(scratch.path + "/secret.txt", workspace + "/link.txt") == 0)
    #expect(symlink(scratch.path, workspace + "/up") == 0)
    #expect(refusal(of: "link.txt").contains("not in the working directory"))
    #expect(refusal(of: "up/secret.txt").contains("not in the working directory"))
  }

  @Test func `a link to a hidden file is refused, and a link within the workspace is followed`() throws {
    try write("sub/.git/config.txt", Array("x".utf8))
    try write("sub/real.txt", Array("real".utf8))
    #expect(symlink("sub/.git/config.txt", workspace + "/hidden.txt") == 0)
    #expect(symlink("sub/real.txt", workspace + "/alias.txt") == 0)
    #expect(refusal(of: "hidden.txt").contains("hidden"))
    #expect(try file("alias.txt").bytes == 4)
  }

  @Test func `a workspace that is reached over a link is no other`() throws {
    try write("a.txt", Array("x".utf8))
    #expect(symlink(workspace, scratch.path + "/alias") == 0)
    #expect(throws: Never.self) { try WorkspaceFile("a.txt", in: scratch.path + "/alias", maximumBytes: 10) }
  }

  @Test func `a file that grows after the check is sent as it was checked`() throws {
    try write("log.txt", Array("1234".utf8))
    let log = try file("log.txt")
    try write("log.txt", Array("12345678".utf8))
    let handle = open(workspace + "/log.txt", O_RDONLY)
    defer { _ = close(handle) }
    try log.copy(to: scratch.path + "/copy")
    #expect(scratch.read("copy").utf8.count == 4)
  }

  @Test func `the copy replaces nothing`() throws {
    try write("a.txt", Array("x".utf8))
    try scratch.write("there", "kept")
    #expect(throws: (any Error).self) { try file("a.txt").copy(to: scratch.path + "/there") }
    #expect(scratch.read("there") == "kept")
  }

  @Test(arguments: [
    ("Übersicht (final).md", "-bersicht--final-.md"), ("…….txt", "pi-output.txt"), ("a.b.c.csv", "a.b.c.csv"),
  ])
  func `names are made plain`(path: String, name: String) throws {
    try write(path, Array("x".utf8))
    #expect(try file(path).name == name)
  }

  @Test func `a long name is cut, and keeps its extension`() throws {
    let long = String(repeating: "n", count: 100) + ".txt"
    try write(long, Array("x".utf8))
    #expect(try file(long).name == String(repeating: "n", count: 48) + ".txt")
  }
}
