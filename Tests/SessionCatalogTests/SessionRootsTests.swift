import FoundationEssentials
import Testing

@testable import SessionCatalog

@Suite struct SessionRootsTests {
  @Test func `only folders that really lie beneath a root are allowed`() throws {
    let folder = FileManager.default.temporaryDirectory.path + "/pr-roots-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder + "/root/inner", withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: folder + "/root-not", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: folder + "/root/out", withDestinationPath: folder + "/root-not")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let roots = [folder + "/root"]
    #expect(SessionRoots.resolved(folder + "/root/inner", within: roots)?.hasSuffix("/root/inner") == true)
    #expect(SessionRoots.resolved(folder + "/root/inner/../inner", within: roots)?.hasSuffix("/root/inner") == true)
    for path in ["/root-not", "/root/out", "/root/../root-not", "/root/none"] {
      #expect(SessionRoots.resolved(folder + path, within: roots) == nil, "\(path)")
    }
    #expect(SessionRoots.resolved("root/inner", within: roots) == nil)
    #expect(SessionRoots.resolved(folder + "/root", within: []) == nil)
  }
}
