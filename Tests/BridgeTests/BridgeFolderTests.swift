import BridgeProtocol
import CLinux
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bridge

@Suite struct BridgeFolderTests {
  private let scratch: TemporaryFolder
  private let folder: BridgeFolder

  init() throws {
    scratch = try TemporaryFolder()
    folder = BridgeFolder(path: scratch.path + "/bridge")
  }

  private func record(_ pid: Int32, start: UInt64?) -> RegistryRecord {
    RegistryRecord(
      pid: pid, processStartTime: start, hostname: "here", cwd: "/work", socketPath: folder.socket(pid),
      bridgeDir: folder.path, startedAt: "2026-05-21T08:00:00.000Z", updatedAt: "2026-05-21T08:00:00.000Z")
  }

  private func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  private func mode(_ path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  @Test func `PI_BRIDGE_DIR is preferred to the configured folder, and that to the protocol's own`() {
    let both = BridgeFolder(configured: "/set", environment: ["PI_BRIDGE_DIR": " /chosen/../named "])
    #expect(both.path == "/named")
    #expect(BridgeFolder(configured: "/set", environment: ["PI_BRIDGE_DIR": " "]).path == "/set")
    #expect(
      BridgeFolder(configured: nil, environment: ["TMPDIR": "/scratch/"]).path
        == "/scratch/pi-session-bridge-\(getuid())")
    #expect(BridgeFolder(configured: nil, environment: [:]).path == "/tmp/pi-session-bridge-\(getuid())")
  }

  @Test func `a folder that is open to others is refused and left as it is`() throws {
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
    chmod(folder.path, 0o755)
    let failure = #expect(throws: BridgeFolder.Failure.self) { try folder.prepare() }
    #expect(failure?.description.contains("chmod 700 \(folder.path)") == true)
    #expect(mode(folder.path) == 0o755)
  }

  @Test func `folders and registry files are private`() throws {
    try folder.prepare()
    try folder.write(record(getpid(), start: nil))
    for path in [folder.path, folder.path + "/instances", folder.path + "/raw"] { #expect(mode(path) == 0o700) }
    #expect(mode(folder.registryFile(getpid())) == 0o600)
  }

  @Test func `a link in the place of the folder is refused`() throws {
    let elsewhere = scratch.path + "/elsewhere"
    try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: false)
    #expect(symlink(elsewhere, folder.path) == 0)
    let failure = #expect(throws: BridgeFolder.Failure.self) { try folder.prepare() }
    #expect(failure?.description.contains("PI_BRIDGE_DIR") == true)
  }

  @Test func `a folder whose sockets would have too long paths is refused with the setting to change`() {
    let long = BridgeFolder(path: scratch.path + "/" + String(repeating: "x", count: 100))
    let failure = #expect(throws: BridgeFolder.Failure.self) { try long.prepare() }
    #expect(failure?.description.contains("bridge.directory") == true)
  }

  @Test func `a record is written whole over the one before`() throws {
    try folder.prepare()
    try folder.write(record(getpid(), start: 1))
    var second = record(getpid(), start: 1)
    second.sessionName = "second"
    try folder.write(second)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/instances")
    #expect(names == ["\(getpid()).json"])
    #expect(scratch.read("bridge/instances/\(getpid()).json").contains("\"sessionName\":\"second\""))
  }

  @Test func `files of processes that are gone are removed, and those of living ones stay`() throws {
    try folder.prepare()
    // No process has this number: the kernel's limit is lower.
    let gone: Int32 = 4_194_400
    try folder.write(record(gone, start: 1))
    try folder.write(record(getpid(), start: relay_process_start_time(getpid())))
    for pid in [gone, getpid()] {
      try scratch.write("bridge/pi-\(pid).sock", "")
      try scratch.write("bridge/raw/\(pid).jsonl", "")
    }
    try scratch.write("bridge/raw/4194401.jsonl", "")
    try folder.prepare()
    for path in [folder.registryFile(gone), folder.socket(gone), folder.journal(gone), folder.journal(4_194_401)] {
      #expect(!exists(path))
    }
    for path in [folder.registryFile(getpid()), folder.socket(getpid()), folder.journal(getpid())] {
      #expect(exists(path))
    }
  }

  @Test func `a process id that another process has now is no sign of life`() throws {
    try folder.prepare()
    try folder.write(record(getpid(), start: relay_process_start_time(getpid()) + 1))
    try folder.prepare()
    #expect(!exists(folder.registryFile(getpid())))
  }

  @Test func `a bridge of others, whose record names no start, is alive while its process is`() throws {
    try folder.prepare()
    try folder.write(record(getpid(), start: nil))
    try folder.prepare()
    #expect(exists(folder.registryFile(getpid())))
  }
}
