import FoundationEssentials
import Testing

/// The tables of docs/coverage.md and docs/reliability.md, and the tests that they name.
@Suite struct CoverageTests {
  /// The names that a pattern finds in the sources of the tests.
  private static func names(_ pattern: Regex<(Substring, Substring)>) throws -> Set<String> {
    let folder = root.appending(path: "Tests")
    var names: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".swift") {
      let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
      names.formUnion(text.matches(of: pattern).map { String($0.1) })
    }
    return names
  }

  private static func tests() throws -> Set<String> { try names(#/func `([^`\n]+)`\(/#) }

  /// The last cell of each row, without the rows that head a table.
  private static func lastCells(_ text: String) -> [Substring] {
    text.split(separator: "\n").filter { $0.hasPrefix("| ") }.compactMap { row in
      row.split(separator: "|").dropLast(row.hasSuffix("|") ? 0 : 1).last { !$0.allSatisfy(\.isWhitespace) }
    }.filter { $0 != " tests " && $0 != " test " }
  }

  @Test func `every name in backquotes in the column of tests is a test`() throws {
    let tests = try Self.tests()
    let cells = Self.lastCells(try document("docs/coverage.md"))
    #expect(tests.count > 900 && cells.count > 90)
    for cell in cells {
      for name in cell.matches(of: #/`([^`]*)`/#) {
        let isTest = tests.contains(String(name.1))
        #expect(isTest, "there is no test \(name.1)")
      }
    }
  }

  @Test func `every row names a test or says that something is missing`() throws {
    for cell in Self.lastCells(try document("docs/coverage.md")) {
      #expect(cell.contains("`") || cell.contains("Missing"), "\(cell)")
    }
  }

  @Test func `every promise names suites and tests that exist`() throws {
    let known = try Self.tests().union(Self.names(#/struct (\w+Tests)\b/#))
    let page = try document("docs/reliability.md")
    let promises = try #require(page.split(separator: "\n## ").first { $0.hasPrefix("Promises") })
    let cells = Self.lastCells(String(promises))
    #expect(cells.count > 40)
    for cell in cells {
      #expect(cell.contains("`") || cell == " the same ", "\(cell)")
      for name in cell.matches(of: #/`([^`]*)`/#) {
        let isKnown = known.contains(String(name.1))
        #expect(isKnown, "there is neither a suite nor a test \(name.1)")
      }
    }
  }
}
