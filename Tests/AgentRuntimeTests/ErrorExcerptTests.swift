import Testing

@testable import AgentRuntime

@Suite struct ErrorExcerptTests {
  private func excerpt(_ lines: [String]) -> ErrorExcerpt {
    lines.reduce(into: ErrorExcerpt()) { $0.append($1) }
  }

  @Test func `the first error of a start is shown, without pi's warnings, in three lines at most`() {
    let lines = [
      "Warning: No project session found with id 'x'; creating a new session with that id.",
      "(node:12) ExperimentalWarning: something",
      #"Failed to load extension "/x/bad.ts": bad extension"#, "more of it", "", "a third line", "a fourth line",
      "Error: Unknown provider nope",
    ]
    #expect(
      excerpt(lines).firstError == "Failed to load extension \"/x/bad.ts\": bad extension\nmore of it\na third line")
  }

  @Test func `warnings alone are no reason`() {
    #expect(excerpt(["Warning: No project session found with id 'x'; creating a new session."]).firstError == nil)
  }

  @Test func `words that do not look like an error are shown when there are no others`() {
    #expect(excerpt(["Warning: w", "cannot start today? ask again"]).firstError == "cannot start today? ask again")
    #expect(excerpt(["out of luck"]).firstError == "out of luck")
  }

  @Test func `a crash is reported by its error and not by the last line of its trace`() {
    let trace = [
      "file:///app/dist/modes/rpc/rpc-mode.js:599", "            throw new Error(\"x\");", "                  ^", "",
      "TypeError: Cannot read properties of null (reading 'id')", "    at handle (file:///app/rpc-mode.js:599:20)", "",
      "Node.js v24.13.1",
    ]
    #expect(
      excerpt((0..<200).map { "progress \($0)" } + trace).lastError
        == "TypeError: Cannot read properties of null (reading 'id')")
  }

  @Test func `control characters are removed from a line`() {
    #expect(excerpt(["Error: \u{1B}[31mred\u{7}"]).firstError?.contains("\u{1B}") == false)
  }
}
