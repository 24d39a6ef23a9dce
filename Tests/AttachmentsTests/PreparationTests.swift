import Attachments
import FoundationEssentials
import Glibc
import RelayWire
import TestSupport
import Testing

// The module has the plural's name, but exports none of its own.
private typealias Attachment = RelayWire.Attachment

@Suite struct FileKindTests {
  @Test func `images are recognised by their first bytes`() {
    #expect(FileKind.of([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1]) == .image(mime: "image/png"))
    #expect(FileKind.of([0xFF, 0xD8, 0xFF, 0xE0]) == .image(mime: "image/jpeg"))
    #expect(FileKind.of(Array("GIF89a…".utf8)) == .image(mime: "image/gif"))
    #expect(FileKind.of(Array("RIFF1234WEBPVP8 ".utf8)) == .image(mime: "image/webp"))
    #expect(FileKind.of(Array("RIFF1234WAVEfmt ".utf8)) == .text("RIFF1234WAVEfmt "))
  }

  @Test func `text is valid UTF-8 without control characters`() {
    #expect(FileKind.of(Array("Größe\n\t🦊".utf8)) == .text("Größe\n\t🦊"))
    #expect(FileKind.of([0xEF, 0xBB, 0xBF] + Array("x".utf8)) == .text("x"))
    #expect(FileKind.of([0x61, 0x00, 0x62]) == .other)
    #expect(FileKind.of([0xC3, 0x28]) == .other)
    #expect(FileKind.of([]) == .text(""))
  }
}

@Suite struct PreparationTests {
  private func prepare(
    _ attachments: [Attachment], in folder: TemporaryFolder, limits: Preparation.Limits = .init(), proxy: String? = nil
  ) async throws -> AttachmentsPrepare.Reply {
    let output = folder.path + "/out"
    try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
    return await Preparation(limits: limits).prepare(
      AttachmentsPrepare(
        attachments: attachments, spoolDir: folder.path + "/spool", outputDir: output, proxy: proxy))
  }

  private func spool(_ files: [String: [UInt8]]) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path + "/spool/sub", withIntermediateDirectories: true)
    for (name, bytes) in files { try Data(bytes).write(to: URL(filePath: "\(folder.path)/spool/\(name)")) }
    return folder
  }

  @Test func `files stay in order and each is accounted for`() async throws {
    let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    let folder = try spool(["a": Array("first".utf8), "b": png, "sub/c": Array("second".utf8), "d": [0, 1]])
    let base = folder.path + "/spool/"
    let reply = try await prepare(
      [
        Attachment(id: "1", name: "a.py", path: base + "a"), Attachment(id: "2", name: "b.txt", path: base + "b"),
        Attachment(id: "3", name: "c", path: base + "sub/c"), Attachment(id: "4", name: "d", path: base + "d"),
      ], in: folder)
    #expect(reply.images.map(\.name) == ["b.txt"])
    #expect(folder.read("out/1.base64") == Data(png).base64EncodedString())
    #expect(
      reply.text
        == "--- a.py ---\nfirst\n\n--- c ---\nsecond\n\n[Attached but not included: d, 2 bytes — not a picture or text]"
    )
  }

  @Test func `text of 100 KB and images over the limit are mentioned by name only`() async throws {
    let folder = try spool([
      "t": [UInt8](repeating: 0x61, count: 100_000), "s": [UInt8](repeating: 0x61, count: 99_999),
    ])
    var limits = Preparation.Limits()
    limits.imageBytes = 1 << 20
    let base = folder.path + "/spool/"
    let reply = try await prepare(
      [
        Attachment(id: "1", name: "t", path: base + "t"), Attachment(id: "2", name: "s", path: base + "s"),
        Attachment(id: "3", name: "huge", size: 2 << 20, path: base + "s"),
      ], in: folder, limits: limits)
    #expect(reply.text.contains("[Attached but not included: t, 98 KiB — text of 98 KiB or more]"))
    #expect(reply.text.contains("--- s ---"))
    #expect(reply.text.contains("[Attached but not included: huge, 2 MiB — larger than 1 MiB]"))
  }

  @Test func `files outside the spool folder are not opened`() async throws {
    let folder = try spool(["a": Array("x".utf8)])
    symlink("/etc/passwd", folder.path + "/spool/link")
    symlink("/etc", folder.path + "/spool/dir")
    let base = folder.path + "/spool/"
    for path in [
      "/etc/passwd", base + "../../../etc/passwd", base + "link", base + "dir/passwd", base + "sub", base, base + "no",
    ] {
      let reply = try await prepare([Attachment(id: "1", name: "n", path: path)], in: folder)
      #expect(reply.text.hasPrefix("[Attached but not included: n"), "\(path)")
      #expect(!reply.text.contains("root:"))
    }
  }

  @Test func `behind a proxy files are fetched only from listed hosts`() async throws {
    let folder = try spool([:])
    let reply = try await prepare(
      [Attachment(id: "1", name: "n", url: "https://169.254.169.254/latest")], in: folder, proxy: "http://127.0.0.1:1")
    #expect(reply.text.contains("only hosts that the messenger lists are fetched from"))
  }
}
