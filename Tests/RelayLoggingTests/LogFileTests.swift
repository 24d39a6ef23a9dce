import FoundationEssentials
import TestSupport
import Testing

@testable import RelayLogging

@Suite struct LogFileTests {
  @Test(arguments: [
    (0.0, "1970-01-01T00:00:00.000Z"), (0.25, "1970-01-01T00:00:00.250Z"),
    (951_782_399.9999, "2000-02-28T23:59:59.999Z"), (1_709_210_096.5, "2024-02-29T12:34:56.500Z"),
  ])
  func `times are in UTC with whole milliseconds`(seconds: Double, text: String) {
    #expect(LogFile.timestamp(Date(timeIntervalSince1970: seconds)) == text)
  }

  @Test func `each line begins with the time at which it was written`() throws {
    let folder = try TemporaryFolder()
    let file = LogFile(path: "\(folder.path)/a.log", limits: .init())
    let before = LogFile.timestamp()
    file.write("first")
    file.write("second")
    let after = LogFile.timestamp()
    let lines = folder.read("a.log").split(separator: "\n")
    #expect(lines.map { $0.dropFirst(25) } == ["first", "second"])
    for line in lines {
      let time = String(line.prefix(24))
      #expect(before <= time && time <= after)
    }
  }
}
