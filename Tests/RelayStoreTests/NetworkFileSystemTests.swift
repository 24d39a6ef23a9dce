import TestSupport
import Testing

@testable import RelayStore

@Suite struct NetworkFileSystemTests {
  private let mounts = """
    27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
    60 27 0:52 / /home/u/far rw,nosuid,nodev,relatime shared:31 - fuse.sshfs u@host:/home/u rw,user_id=1000
    61 27 0:53 / /home/u/near rw,relatime - fuse.gocryptfs /home/u/cipher rw
    62 27 8:17 / /mnt/stick rw,relatime - fuseblk /dev/sdb1 rw
    """

  @Test(
    arguments: [
      (0x6969, 0, 40, "NFS"), (0x0102_1997, 0, 41, "9P"), (0x6573_5546, 0, 52, "sshfs"), (0x6573_5546, 0, 53, nil),
      (0x6573_5546, 8, 17, nil), (0x6573_5546, 0, 99, nil), (0xEF53, 254, 0, nil),
    ] as [(UInt, UInt32, UInt32, String?)])
  func `network file systems are recognised by their type`(
    magic: UInt, major: UInt32, minor: UInt32, name: String?
  ) {
    #expect(NetworkFileSystem.name(magic: magic, device: (major, minor), mounts: mounts) == name)
  }

  @Test func `a local disk is accepted`() throws {
    let folder = try TemporaryFolder()
    try NetworkFileSystem.refuse(folder.path)
  }
}
