internal import FoundationEssentials
internal import RelayJSON
internal import RelayWire

/// The checks of what a service says that it offers.
struct ServiceChecks: Sendable {
  let asking: ConformanceAsking
  let services: [String]
  let folder: String

  var all: [ConformanceSuite.Check] {
    var checks: [ConformanceSuite.Check] = []
    if services.contains(FormatRender.method) {
      checks.append(.init("format.render keeps to the limit", .rendering) { try await self.expectRendering() })
    }
    if services.contains(FormatTool.method) {
      checks.append(.init("format.tool answers a line for each call", .tools) { try await self.expectToolLines() })
    }
    if services.contains(AttachmentsPrepare.method) {
      checks.append(.init("attachments.prepare takes a text file", .preparation) { try await self.expectPreparation() })
    }
    return checks
  }

  private func expectRendering() async throws -> String? {
    let text = String(repeating: "word ", count: 100)
    return try await asking.ask(FormatRender(text: text, dialect: "plain", limit: 60, unit: .utf16, final: true)) {
      if $0.pieces.isEmpty { return "there are no pieces" }
      if $0.pieces.contains(where: { $0.text.utf16.count > 60 }) { return "a piece is over the limit" }
      let consumed = $0.pieces.map(\.consumed)
      return consumed == consumed.sorted() && consumed.allSatisfy { $0 <= text.utf8.count }
        ? nil : "consumed goes back, or is over the length of the text"
    }
  }

  private func expectToolLines() async throws -> String? {
    let calls = ["bash", "read"].map { FormatTool.Call(name: $0, arguments: ["command": "ls"]) }
    return try await asking.ask(FormatTool(calls: calls, dialect: "plain")) {
      $0.lines.count == calls.count ? nil : "there are \($0.lines.count) lines for \(calls.count) calls"
    }
  }

  private func expectPreparation() async throws -> String? {
    let path = "\(folder)/check.txt"
    do {
      try Data("what is in the file".utf8).write(to: URL(filePath: path))
    } catch {
      return "\(path) cannot be written: \(error)"
    }
    let attachment = Attachment(id: "check", name: "check.txt", mime: "text/plain", path: path)
    return try await asking.ask(AttachmentsPrepare(attachments: [attachment], spoolDir: folder, outputDir: folder)) {
      $0.text.isEmpty ? "the text is empty: a file that cannot be used is named in it" : nil
    }
  }
}
