import FoundationEssentials
import Testing

/// The documents of the project, and what their links lead to.
@Suite struct LinkTests {
  /// A link out of a document, written in place or as a definition at the end of the page.
  private struct Link {
    let document: String
    let text: String
    /// Relative to the document's folder, without the heading.
    let path: String
    let heading: String?

    init(_ document: String, text: Substring, target: Substring) {
      self.document = document
      self.text = String(text)
      let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      path = parts[0]
      heading = parts.count > 1 ? parts[1] : nil
    }

    var file: URL {
      let source = root.appending(path: document)
      return path.isEmpty ? source : source.deletingLastPathComponent().appending(path: path).standardized
    }

    /// The type that the link names; `nil` where its text is anything else.
    var type: String? {
      text.wholeMatch(of: #/`([A-Z]\w+)(?:\.\w+)?`/#).map { String($0.1) }
    }
  }

  private static func documents() throws -> [String] {
    let names = try FileManager.default.contentsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".md") }
    let docs = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: "docs").path)
    return (names + docs.filter { $0.hasSuffix(".md") }.map { "docs/\($0)" }).sorted()
  }

  /// The text of a document without its fenced blocks.
  private static func prose(of name: String) throws -> String {
    let parts = try document(name).components(separatedBy: "```")
    return parts.enumerated().filter { $0.offset % 2 == 0 }.map(\.element).joined()
  }

  private static func links() throws -> [Link] {
    try documents().flatMap { name in
      let text = try prose(of: name)
      let links =
        text.matches(of: #/\[([^\[\]]+)\]\(([^()\s]+)\)/#).map { Link(name, text: $0.1, target: $0.2) }
        + text.matches(of: #/(?m)^\[([^\[\]]+)\]: (\S+)$/#).map { Link(name, text: $0.1, target: $0.2) }
      return links.filter { !$0.path.hasPrefix("http") }
    }
  }

  /// The anchors of a page's headings, as GitHub makes them.
  private static func anchors(of page: URL) throws -> Set<String> {
    let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("#") }
    return Set(
      lines.map { line in
        let title = line.drop { $0 == "#" }.dropFirst().lowercased()
        return String(title.filter { $0.isLetter || $0.isNumber || " -_".contains($0) }).replacing(" ", with: "-")
      })
  }

  @Test func `every link of the documents leads to a file, a folder or a heading`() throws {
    let links = try Self.links()
    #expect(links.count > 150)
    for link in links {
      #expect(FileManager.default.fileExists(atPath: link.file.path), "\(link.document): \(link.path) is not there")
      guard let heading = link.heading, FileManager.default.fileExists(atPath: link.file.path) else { continue }
      // A line number is wrong after the next change of the file.
      #expect(link.file.path.hasSuffix(".md"), "\(link.document): \(link.path) is linked by \(heading)")
      if link.file.path.hasSuffix(".md") {
        #expect(try Self.anchors(of: link.file).contains(heading), "\(link.document): no heading \(heading)")
      }
    }
  }

  @Test func `a link that names a type leads to the file or folder that declares it`() throws {
    let links = try Self.links().filter { $0.type != nil }
    #expect(links.count > 100)
    for link in links {
      guard let type = link.type else { continue }
      let isDeclared = try Self.swiftFiles(at: link.file).contains { file in
        let declaration = try Regex("\\b(?:struct|enum|class|actor|protocol|typealias) \(type)\\b")
        return try String(contentsOf: file, encoding: .utf8).contains(declaration)
      }
      #expect(isDeclared, "\(link.document): \(link.path) does not declare \(type)")
    }
  }

  private static func swiftFiles(at place: URL) throws -> [URL] {
    if place.path.hasSuffix(".swift") { return [place] }
    let names = try FileManager.default.contentsOfDirectory(atPath: place.path).filter { $0.hasSuffix(".swift") }
    return names.map { place.appending(path: $0) }
  }

  @Test func `every reference of a page has a definition, and every definition a reference`() throws {
    for name in try Self.documents() {
      let text = try Self.prose(of: name)
      let defined = Set(text.matches(of: #/(?m)^\[([^\[\]]+)\]: /#).map { String($0.1) })
      let used = Set(text.matches(of: #/\[(`[A-Za-z.]+`)\](?![(:])/#).map { String($0.1) })
      #expect(used.symmetricDifference(defined) == [], "\(name)")
    }
  }
}
