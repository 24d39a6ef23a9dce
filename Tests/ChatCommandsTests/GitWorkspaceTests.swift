import FoundationEssentials
import Testing

@testable import ChatCommands

@Suite struct GitWorkspaceTests {
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
    #expect(GitWorkspace.branch(of: folder + "/main") == "feature/one")
    #expect(GitWorkspace.branch(of: folder + "/main/deep/er") == "feature/one")
    #expect(GitWorkspace.branch(of: folder + "/side") == "0123456789ab")
    #expect(GitWorkspace.branch(of: "/") == nil)
  }

  @Test(
    arguments: [
      (["/run/systemd/container": "systemd-nspawn\n", "/.dockerenv": ""], "systemd-nspawn"),
      (["/run/systemd/container": "\n", "/.dockerenv": ""], "docker"),
      (["/run/.containerenv": "engine=\"podman-4.3.1\"\nname=\"x\"\n"], "podman"),
      (["/run/.containerenv": ""], "podman"),
      (["/proc/self/cgroup": "0::/docker/0123abc\n"], "docker"),
      (["/proc/self/cgroup": "12:pids:/x\n0::/system.slice/docker-0123abc.scope\n"], "docker"),
      (["/proc/self/cgroup": "0::/lxc.payload.box/init.scope\n"], "lxc"),
      (["/proc/self/cgroup": "1:name=systemd:/lxc/box"], "lxc"),
      (["/proc/self/cgroup": "0::/machine.slice/libpod-0123abc.scope"], "podman"),
      (["/proc/self/cgroup": "0::/kubepods.slice/kubepods-burstable.slice/x"], "kubernetes"),
      (["/proc/self/cgroup": "0::/system.slice/docker.service\n"], nil), (["/proc/self/cgroup": "0::/"], nil),
      ([:], nil),
    ] as [([String: String], String?)])
  func `the kind of container is recognised by the files that it leaves`(files: [String: String], kind: String?) {
    #expect(Machine.container { files[$0] } == kind)
  }

  @Test func `a disk is nearly full when little is left, by share and by size`() {
    func isNearlyFull(_ free: UInt64, _ total: UInt64) -> Bool {
      Machine.Space(free: free, total: total).isNearlyUsedUp
    }
    let gigabyte: UInt64 = 1_000_000_000
    #expect(isNearlyFull(0, 20 * gigabyte) && isNearlyFull(gigabyte - 1, 20 * gigabyte))
    #expect(!isNearlyFull(gigabyte, 20 * gigabyte))
    // A large disk has room for long.
    #expect(!isNearlyFull(5 * gigabyte, 4_000 * gigabyte) && isNearlyFull(5 * gigabyte - 1, 4_000 * gigabyte))
    #expect(!isNearlyFull(0, 0))
    #expect(
      Machine.Space(free: 1_260_000_000, total: 50 * gigabyte).description == "1.2 GiB free of 47 GiB")
    #expect(Machine.Space(free: 12_000, total: 500_000_000).description == "12 KiB free of 477 MiB")
    #expect(Machine.fullDisks(of: ["/proc", "/there/is/none"]).isEmpty)
  }
}
