import RelayHome
import RelayWire
import TestSupport
import Testing

@testable import ContentServices

@Suite struct PreparedAttachmentsTests {
  private func reply(_ path: String) -> AttachmentsPrepare.Reply {
    AttachmentsPrepare.Reply(images: [.init(name: "a.png", mime: "image/png", base64Path: path)], text: "notes")
  }

  @Test func `images are read from the folder of the request`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("1", "aGk=")
    let prepared = try PreparedAttachments(reply(path), beneath: folder.path)
    #expect(prepared.images == [.init(data: "aGk=", mime: "image/png")])
    #expect(prepared.text == "notes")
  }

  @Test(arguments: ["/etc/hostname", "/folder/../etc/hostname", "/folders/1", "/folder"])
  func `an image outside the folder of the request is refused`(path: String) {
    #expect(throws: ContentError.outsideItsFolder) { try PreparedAttachments(reply(path), beneath: "/folder") }
  }

  @Test func `a missing image is refused`() {
    #expect(throws: ContentError.unreadable) { try PreparedAttachments(reply("/folder/1"), beneath: "/folder") }
  }

  @Test func `without the services files are not prepared and text is split plainly`() async throws {
    let clock = ManualClock()
    let services = Services(home: HomeDirectory(path: "/nowhere"), clock: clock, logger: .lines { _ in })
    async let prepared = services.prepare(
      [Attachment(id: "1", name: "a.txt", path: "/a.txt")], of: "message", spoolFolder: "/", proxy: nil, hosts: nil)
    await clock.sleepers(1)
    clock.advance(by: Services.returnLimit)
    do {
      _ = try await prepared
      Issue.record("prepared by nobody")
    } catch {
      #expect(error as? ContentError == .unavailable)
    }
    let request = FormatRender(text: "one two", dialect: "plain", limit: 4, unit: .utf16, final: true)
    let pieces = await services.render(request, of: "message")
    #expect(pieces.count == 2)
    #expect(pieces.last?.consumed == 7)
  }
}
