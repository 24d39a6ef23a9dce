import FoundationEssentials
import Testing

/// The tables of docs/coverage.md, and the tests that they name.
@Suite struct CoverageTests {
  /// The names of all tests.
  private static func tests() throws -> Set<String> {
    let folder = root.appending(path: "Tests")
    var names: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".swift") {
      let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
      names.formUnion(text.matches(of: #/func `([^`\n]+)`\(/#).map { String($0.1) })
    }
    return names
  }

  /// The last cell of each row, without the rows that head a table.
  private static func lastCells() throws -> [Substring] {
    try document("docs/coverage.md").split(separator: "\n").filter { $0.hasPrefix("| ") }.compactMap { row in
      row.split(separator: "|").dropLast(row.hasSuffix("|") ? 0 : 1).last { !$0.allSatisfy(\.isWhitespace) }
    }.filter { $0 != " tests " }
  }

  @Test func `every name in backquotes in the column of tests is a test`() throws {
    let tests = try Self.tests()
    let cells = try Self.lastCells()
    #expect(tests.count > 900 && cells.count > 90)
    for cell in cells {
      for name in cell.matches(of: #/`([^`]*)`/#) {
        let isTest = tests.contains(String(name.1))
        #expect(isTest, "there is no test \(name.1)")
      }
    }
  }

  @Test func `every row names a test or says what is missing`() throws {
    for cell in try Self.lastCells() { #expect(cell.contains("`") || cell.contains("Missing"), "\(cell)") }
  }
}
