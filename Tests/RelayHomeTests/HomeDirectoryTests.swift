import FoundationEssentials
import Glibc
import RelayHome
import TestSupport
import Testing

@Suite struct HomeDirectoryTests {
  private func mode(_ path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  @Test func `the control socket is in the home where its path is short enough`() throws {
    let scratch = try TemporaryFolder()
    let home = HomeDirectory(path: scratch.path + "/home")
    try home.prepare()
    #expect(home.socket == scratch.path + "/home/run/control.sock")
    #expect(access(home.socketPathFile, F_OK) != 0)
  }

  @Test func `the control socket of a home with a long path is in a private folder, and the home names it`() throws {
    let scratch = try TemporaryFolder()
    let long = HomeDirectory(path: scratch.path + "/" + String(repeating: "x", count: 120))
    let other = HomeDirectory(path: scratch.path + "/" + String(repeating: "x", count: 119) + "y")
    try long.prepare()
    #expect(long.socket.utf8.count <= 107)
    #expect(long.socket != other.socket)
    #expect(HomeDirectory(path: long.path).socket == long.socket)
    #expect(
      mode(String(long.socket.prefix { $0 != "." }.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }))
        == 0o700)
    #expect(try String(contentsOfFile: long.socketPathFile, encoding: .utf8) == long.socket + "\n")
  }
}
