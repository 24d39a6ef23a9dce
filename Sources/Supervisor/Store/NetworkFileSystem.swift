internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import RelayConcurrency

/// File systems on which locks, flushes and shared memory do not hold what SQLite needs.
enum NetworkFileSystem {
  /// By the magic number of statfs(2).
  private static let magics: [UInt: String] = [
    0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x5346_414F: "AFS", 0x00C3_6400: "Ceph",
    0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS", 0x1983_0326: "BeeGFS", 0x0102_1997: "9P", 0x7375_7245: "Coda",
    0x2003_0528: "OrangeFS",
  ]

  private static let userSpace: UInt = 0x6573_5546
  /// FUSE file systems that reach other machines, by the name that follows `fuse.` in the table of mounts.
  private static let drivers: Set<Substring> = [
    "sshfs", "rclone", "s3fs", "gcsfuse", "goofys", "geesefs", "glusterfs", "ceph", "ceph-fuse", "davfs", "davfs2",
    "curlftpfs", "juicefs", "seaweedfs", "mfs", "moosefs", "lizardfs", "beegfs", "cvmfs2", "blobfuse2", "jfs-fuse",
    "google-drive-ocamlfuse", "onedriver",
  ]

  /// - Throws: when `folder` is on one.
  static func refuse(_ folder: String) throws(StoreError) {
    var device = (major: UInt32(0), minor: UInt32(0))
    let type = relay_file_system_type(folder, &device.major, &device.minor)
    guard type != 0 else {
      throw StoreError(SystemError("cannot be looked at", path: folder))
    }
    let table = FileManager.default.contents(atPath: "/proc/self/mountinfo") ?? Data()
    let name = name(magic: type & 0xFFFF_FFFF, device: device, mounts: String(decoding: table, as: UTF8.self))
    if let name {
      throw StoreError(
        "\(folder) is on a network file system (\(name)), where nothing can be stored safely; set PI_RELAY_HOME to a "
          + "folder on a disk of this machine")
    }
  }

  /// - Parameter mounts: the content of `/proc/self/mountinfo`, proc_pid_mountinfo(5).
  /// - Returns: the name of the file system; `nil` for one that is not known as a network file system.
  static func name(magic: UInt, device: (major: UInt32, minor: UInt32), mounts: String) -> String? {
    guard magic == userSpace else { return magics[magic] }
    for line in mounts.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 2, fields[2] == "\(device.major):\(device.minor)",
        let end = fields.firstIndex(of: "-"), fields.count > end + 1
      else { continue }
      let kind = fields[end + 1].split(separator: ".", maxSplits: 1)
      if kind.count == 2, drivers.contains(kind[1]) { return String(kind[1]) }
    }
    return nil
  }
}
