import RelayHome
import Testing

@Suite struct DiskSpaceTests {
  @Test(arguments: [
    (free: 1 << 30, size: 100 << 30, isFull: false), (free: (1 << 30) - 1, size: 100 << 30, isFull: true),
    (free: 600 << 20, size: 10 << 30, isFull: false), (free: 400 << 20, size: 10 << 30, isFull: true),
    (free: 64 << 20, size: 64 << 20, isFull: false), (free: 0, size: 64 << 20, isFull: true),
    (free: 0, size: 0, isFull: false),
  ])
  func `a disk is nearly full when less than a twentieth and less than a gibibyte are free`(
    free: Int, size: Int, isFull: Bool
  ) {
    let space = DiskSpace(free: free, size: size)
    #expect(space.isNearlyFull == isFull)
    #expect((space.problem(of: "/home") != nil) == isFull)
  }

  @Test func `the warning names the folder and the free space`() throws {
    let words = try #require(DiskSpace(free: 400 << 20, size: 10 << 30).problem(of: "/home"))
    #expect(words.hasPrefix("the disk of /home is nearly full: 400 MiB of 10 GiB are free"))
  }

  @Test func `the system reports the space of a folder`() throws {
    let space = try #require(DiskSpace(of: "/tmp"))
    #expect(space.size > 0 && space.free <= space.size)
    #expect(DiskSpace(of: "/nowhere") == nil)
  }
}
