import FoundationEssentials
import Testing

@testable import Supervisor

@Suite struct WorkplaceTests {
  @Test func `a session's branch is read from its folder`() throws {
    let folder = FileManager.default.temporaryDirectory.path + "/pr-git-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for inner in ["/main/.git/worktrees/side", "/main/deep/er", "/side"] {
      try FileManager.default.createDirectory(atPath: folder + inner, withIntermediateDirectories: true)
    }
    func write(_ text: String, _ path: String) throws { try Data(text.utf8).write(to: URL(filePath: folder + path)) }
    try write("ref: refs/heads/feature/one\n", "/main/.git/HEAD")
    try write("gitdir: \(folder)/main/.git/worktrees/side\n", "/side/.git")
    try write("0123456789abcdef0123456789abcdef01234567\n", "/main/.git/worktrees/side/HEAD")
    #expect(Workplace.branch(of: folder + "/main") == "feature/one")
    #expect(Workplace.branch(of: folder + "/main/deep/er") == "feature/one")
    #expect(Workplace.branch(of: folder + "/side") == "0123456789ab")
    #expect(Workplace.branch(of: "/") == nil)
  }
}
