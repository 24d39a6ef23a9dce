import FoundationEssentials
import Glibc
import RelayHome
import RelayModel
import RelayWire
import TestSupport
import Testing

@testable import MessageRouting

@Suite struct ProgramFilesTests {
  private let scratch: TemporaryFolder
  private let files: ProgramFiles

  init() throws {
    scratch = try TemporaryFolder()
    files = ProgramFiles(home: HomeDirectory(path: scratch.path))
  }

  private func key(_ id: String, of session: String = "s1") -> MessageKey {
    MessageKey(
      conversation: ConversationKey(instance: ConversationKey.programs, conversation: session),
      id: MessageOrigin.program(id).id)
  }

  private func image(_ text: String) -> ProgramPrompt.Image {
    ProgramPrompt.Image(data: Data(text.utf8).base64EncodedString(), mime: "image/png")
  }

  private func mode(_ path: String) -> UInt32 {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  @Test func `an image is a file that nobody else can read, until its message has ended`() throws {
    let attachments = try files.write([image("one"), image("two")], of: key("1"))
    let paths = attachments.compactMap(\.path)
    #expect(paths.map { FileManager.default.contents(atPath: $0) } == [Data("one".utf8), Data("two".utf8)])
    #expect(attachments.map(\.mime) == ["image/png", "image/png"] && attachments.map(\.size) == [3, 3])
    for path in paths {
      #expect(path.hasPrefix(files.folder + "/"))
      #expect(mode(path) == 0o600)
      #expect(mode(String(path.dropLast(2))) == 0o700)
    }
    files.remove(key("2"))
    #expect(access(paths[0], F_OK) == 0)
    files.remove(key("1"))
    #expect(access(paths[0], F_OK) != 0 && access(String(paths[0].dropLast(2)), F_OK) != 0)
  }

  @Test func `too many images, too large ones and other texts are refused and leave nothing`() {
    let large = ProgramPrompt.Image(
      data: Data(count: ProgramFiles.maximumBytes / 2 + 1).base64EncodedString(), mime: "image/png")
    for (images, why) in [
      (Array(repeating: image("x"), count: 9), "images: more than 8"),
      ([large, large], "images: more than 16 MiB together"),
      ([image("x"), ProgramPrompt.Image(data: "?", mime: "image/png")], "images[1].data: this is no base64"),
    ] {
      #expect { try files.write(images, of: key("1")) } throws: { "\($0)" == why }
    }
    #expect(access(files.folder, F_OK) != 0)
  }

  @Test func `files of messages that an earlier daemon has ended are removed by the next`() throws {
    let kept = try #require(try files.write([image("kept")], of: key("1")).first?.path)
    let left = try #require(try files.write([image("left")], of: key("2")).first?.path)
    let other = try #require(try files.write([image("left")], of: key("1", of: "s2")).first?.path)
    let next = ProgramFiles(home: HomeDirectory(path: scratch.path))
    next.sweep(keeping: [key("1")])
    #expect(access(kept, F_OK) == 0 && access(left, F_OK) != 0 && access(other, F_OK) != 0)
    // It knows that the message has a file.
    next.remove(key("1"))
    #expect(access(kept, F_OK) != 0)
  }
}
