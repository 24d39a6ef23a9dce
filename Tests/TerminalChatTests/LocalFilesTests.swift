import RelayWire
import TestSupport
import Testing

@testable import TerminalChat

@Suite struct LocalFilesTests {
  private let folder: TemporaryFolder
  private let files: LocalFiles

  init() throws {
    folder = try TemporaryFolder()
    files = LocalFiles(spoolFolder: folder.path)
  }

  @Test func `a line without the command has no attachment`() throws {
    let (text, attachments) = try files.read("look at /file and say")
    #expect(text == "look at /file and say")
    #expect(attachments.isEmpty)
  }

  @Test(arguments: ["", "'", "\""])
  func `a file is copied to the spool folder, and the rest of the line is the message`(quote: String) throws {
    let name = quote.isEmpty ? "notes.txt" : "my notes.txt"
    let path = try folder.write(name, "content")
    let (text, attachments) = try files.read("/file  \(quote)\(path)\(quote) what is this?")
    #expect(text == "what is this?")
    let attachment = try #require(attachments.first)
    #expect(attachments.count == 1)
    #expect(attachment.name == name)
    let copy = try #require(attachment.path)
    #expect(copy != path && copy.hasPrefix(folder.path + "/"))
    #expect(folder.read(String(copy.dropFirst(folder.path.count + 1))) == "content")
  }

  @Test func `the error names the path that is no file`() {
    #expect(throws: LocalFiles.Failure(description: "which file? /file PATH [message]")) { try files.read("/file ") }
    #expect(throws: LocalFiles.Failure(description: "/no/such is not a file")) { try files.read("/file /no/such look") }
    #expect(throws: LocalFiles.Failure(description: "\(folder.path) is not a file")) {
      try files.read("/file \(folder.path)")
    }
  }
}
